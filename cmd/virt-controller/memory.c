/*
 * What is given back, and why it is worth it:
 *
 *   - the free parts of the heap: first lists and bursts leave holes that glibc only keeps;
 *   - code and constants: relocation, initialisation and TLS handshakes touch pages all over twenty libraries (and the
 * kernel maps their neighbours), most of it never to be used again. What is dropped are mappings of clean pages, not
 * the page cache: what is needed comes back by a minor fault. Writable segments (data, and constants that are
 *     relocated) are left alone.
 */
#include "cmd/virt-controller/memory.h"
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_BLOCK (256 << 10) /* from here on a block has pages of its own, which go when it is freed */
#define WORTH_IT    ((size_t)4 << 20)

void memory_init(void)
{
    mallopt(M_ARENA_MAX, 1); /* a heap for each thread would cost more than the lock of this one does */
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
}

static int drop_clean_pages(struct dl_phdr_info *object, size_t size, void *page_size)
{
    uintptr_t page = *(const uintptr_t *)page_size;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W))
            continue;
        uintptr_t begin = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        if (begin < end)
            madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 0;
}

void memory_settle(void)
{
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    malloc_trim(0);
    dl_iterate_phdr(drop_clean_pages, &page_size);
}

void memory_look(struct memory_watch *watch)
{
    size_t unused = mallinfo2().fordblks;
    if (unused > watch->free_after_trim + WORTH_IT) {
        malloc_trim(0);
        unused = watch->free_after_trim = mallinfo2().fordblks;
    }
    if (unused < watch->free_after_trim)
        watch->free_after_trim = unused;
}
