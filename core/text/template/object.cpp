// SPDX-License-Identifier: Apache-2.0
#include "text/template/object.h"

namespace hokku::jinja {

void release(Object* object) {
    if (object == nullptr || object->heap == nullptr) return;
    if (--object->references == 0) object->heap->retire(object);
}

void Heap::adopt(Object* object, size_t bytes) {
    object->heap = this;
    object->next = first_;
    if (first_ != nullptr) first_->previous = object;
    first_ = object;
    charge(object, bytes);
}

void Heap::destroy(Object* object) {
    live_bytes_ -= object->charged_bytes;
    delete object;
}

void Heap::retire(Object* object) {
    if (object->previous != nullptr) object->previous->next = object->next;
    if (object->next != nullptr) object->next->previous = object->previous;
    if (first_ == object) first_ = object->next;
    object->next = retired_;
    retired_ = object;
    if (draining_) return;  // an outer call frees it: depth of nesting costs no stack
    draining_ = true;
    while (retired_ != nullptr) {
        Object* const next = retired_;
        retired_ = next->next;
        destroy(next);
    }
    draining_ = false;
}

Heap::~Heap() {
    // Whatever is left belongs to cycles. Each object is kept by one count while all drop what
    // they hold; then nothing refers to anything and all can go.
    draining_ = true;
    for (Object* object = first_; object != nullptr; object = object->next) ++object->references;
    for (Object* object = first_; object != nullptr; object = object->next) object->clear();
    while (first_ != nullptr) {
        Object* const object = first_;
        first_ = object->next;
        destroy(object);
    }
    while (retired_ != nullptr) {
        Object* const object = retired_;
        retired_ = object->next;
        destroy(object);
    }
}

}  // namespace hokku::jinja
