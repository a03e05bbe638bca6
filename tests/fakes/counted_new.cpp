// SPDX-License-Identifier: Apache-2.0
// Every form that is not over-aligned, or what one of them took would go to another's delete: a
// sanitizer brings its own for those that are missing. Not inline: the compiler would see malloc's
// memory go to delete, and warn.
#include "tests/fakes/counted_new.h"

#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t gAllocations = 0;

void* counted(std::size_t bytes) noexcept {
  ++gAllocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* countedOrThrow(std::size_t bytes) {
  if (void* memory = counted(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return countedOrThrow(bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) {
  return countedOrThrow(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace gdrbench {

std::size_t allocations() {
  return gAllocations;
}

}  // namespace gdrbench
