// The queue of a block: entries (distance, vertex) in shared memory, and in device memory those it has no room for.
#pragma once
#include <cstdint>

template <typename D> struct alignas(2 * sizeof(D)) Entry {
    D distance;
    uint32_t id;
};

// Keep the compiler from computing a value again at every use.
static __device__ void pin(uint32_t &x) { asm volatile("" : "+r"(x)); }
static __device__ void pin(uint64_t &x) { asm volatile("" : "+l"(x)); }
static __device__ void pin(float &x) { asm volatile("" : "+f"(x)); }
static __device__ void pin(double &x) { asm volatile("" : "+d"(x)); }

static __device__ uint32_t shared_address(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }

// Load and store an entry by its address in shared memory: with a pointer the compiler converts the address each time.
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
    uint32_t in_shared;   // address of the first entry in shared memory
    Entry<D> *in_device;  // entries from `size` on
    uint32_t size, spill;  // entries that fit shared memory, and device memory

    __device__ Entry<D> get(uint32_t i) const {
        Entry<D> entry;
        if (i < size)
            load_shared(in_shared + i * uint32_t(sizeof entry), entry);
        else
            entry = in_device[i - size];
        return entry;
    }
    // False if there is no room.
    __device__ bool put(uint32_t i, Entry<D> entry) const {
        if (i < size)
            store_shared(in_shared + i * uint32_t(sizeof entry), entry);
        else if (i - size < spill)
            in_device[i - size] = entry;
        else
            return false;
        return true;
    }
};

template <typename D> static __device__ void swap(Queue<D> &a, Queue<D> &b) {
    Queue<D> was = a;
    a = b, b = was;
}
