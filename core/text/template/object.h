// SPDX-License-Identifier: Apache-2.0
// Heap, Object and Ref: reference-counted values of one rendering, with a memory budget. Freeing is
// iterative (no recursion on deep nesting) and cycles end with the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace hokku::jinja {

enum class Kind : uint8_t {
    missing,  ///< No value at all (argument not given, name not bound); never seen by templates.
    none,
    boolean,
    integer,
    floating,
    function,  ///< A built-in; points to a static table entry.
    // From here on the value holds an Object.
    undefined,
    big_integer,
    string,
    list,
    tuple,
    dict,
    view,
    range,
    iterator,
    name_space,
    macro,
    method,
    loop,
    cycler,
    joiner,
    scope,
};

class Heap;

/// Base of everything that lives on a Heap. An object without a heap is a literal of the program:
/// immutable, shared by all renderings and never counted.
struct Object {
    explicit Object(Kind object_kind) : kind(object_kind) {}
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() = default;
    /// Drops every value held; called when the heap ends, so that cycles cannot outlive it.
    virtual void clear() {}

    Heap* heap = nullptr;
    Object *previous = nullptr, *next = nullptr;  // the heap's list of live objects
    size_t charged_bytes = 0;
    uint32_t references = 0;
    const Kind kind;
};

/// Threads: one thread at a time. All Refs and Values must be gone before the heap is.
class Heap {
  public:
    explicit Heap(size_t max_bytes) : max_bytes_(max_bytes) {}
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;
    ~Heap();

    void adopt(Object* object, size_t bytes);
    /// Takes an object whose count fell to zero.
    void retire(Object* object);
    /// Accounts for growth of a container.
    void charge(Object* object, size_t bytes) {
        object->charged_bytes += bytes;
        live_bytes_ += bytes;
    }
    [[nodiscard]] size_t live_bytes() const { return live_bytes_; }
    [[nodiscard]] bool over_limit() const { return live_bytes_ > max_bytes_; }
    /// Whether `bytes` more would still fit.
    [[nodiscard]] bool fits(size_t bytes) const {
        return bytes <= max_bytes_ && live_bytes_ <= max_bytes_ - bytes;
    }

  private:
    void destroy(Object* object);

    size_t max_bytes_ = 0, live_bytes_ = 0;
    Object* first_ = nullptr;
    Object* retired_ = nullptr;  // singly linked through `next`
    bool draining_ = false;
};

inline void retain(Object* object) {
    if (object != nullptr && object->heap != nullptr) ++object->references;
}

/// Gives up one reference; frees the object with the last one. Not inline: GCC 12 warns of paths
/// where a number would be taken for an object.
void release(Object* object);

/// Counted pointer to an Object.
template <class T>
class Ref {
  public:
    Ref() = default;
    explicit Ref(T* object) : object_(object) { retain(object_); }
    Ref(const Ref& other) : object_(other.object_) { retain(object_); }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() { release(object_); }

    [[nodiscard]] T* get() const { return object_; }
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    T* object_ = nullptr;
};

/// Creates an object of `bytes` further bytes on a heap.
template <class T, class... Args>
Ref<T> make_object(Heap& heap, size_t bytes, Args&&... args) {
    auto* object = new T(std::forward<Args>(args)...);
    heap.adopt(object, sizeof(T) + bytes);
    return Ref<T>(object);
}

}  // namespace hokku::jinja
