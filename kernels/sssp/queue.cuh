// A queue of a block of threads: entries (distance, vertex) in shared memory, going on in device memory.
#pragma once
#include <cstdint>

template <typename D> struct alignas(2 * sizeof(D)) Entry {
    D distance;
    uint32_t id;
};

// Keep the compiler from working a value out again where it is used.
static __device__ void pin(uint32_t &x) { asm volatile("" : "+r"(x)); }
static __device__ void pin(uint64_t &x) { asm volatile("" : "+l"(x)); }
static __device__ void pin(float &x) { asm volatile("" : "+f"(x)); }
static __device__ void pin(double &x) { asm volatile("" : "+d"(x)); }

static __device__ uint32_t shared_address(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }

// An entry in shared memory, by its address there: with a pointer the compiler works the address out every time.
#define SHARED_ENTRY(D, TYPE, CODE)                                                                               \
    static __device__ void load_shared(uint32_t from, Entry<D> &e) {                                              \
        asm volatile("ld.shared." TYPE " %0, [%2]; ld.shared.b32 %1, [%2 + %3];"                                  \
                     : "=" CODE(e.distance), "=r"(e.id)                                                           \
                     : "r"(from), "n"(sizeof(D))                                                                  \
                     : "memory");                                                                                 \
    }                                                                                                             \
    static __device__ void store_shared(uint32_t to, Entry<D> e) {                                                \
        asm volatile("st.shared." TYPE " [%0], %1; st.shared.b32 [%0 + %3], %2;" ::"r"(to), CODE(e.distance),     \
                     "r"(e.id), "n"(sizeof(D))                                                                    \
                     : "memory");                                                                                 \
    }
SHARED_ENTRY(uint32_t, "b32", "r")
SHARED_ENTRY(uint64_t, "b64", "l")
SHARED_ENTRY(float, "b32", "f")
SHARED_ENTRY(double, "b64", "d")

template <typename D> struct Queue {
    uint32_t near;  // the first entry's address in shared memory
    Entry<D> *far;
    uint32_t size, spill;  // entries here and there

    __device__ Entry<D> get(uint32_t i) const {
        Entry<D> entry;
        if (i < size)
            load_shared(near + i * uint32_t(sizeof entry), entry);
        else
            entry = far[i - size];
        return entry;
    }
    // False if there is no room.
    __device__ bool put(uint32_t i, Entry<D> entry) const {
        if (i < size)
            store_shared(near + i * uint32_t(sizeof entry), entry);
        else if (i - size < spill)
            far[i - size] = entry;
        else
            return false;
        return true;
    }
};

template <typename D> static __device__ void swap(Queue<D> &a, Queue<D> &b) {
    Queue<D> was = a;
    a = b, b = was;
}
