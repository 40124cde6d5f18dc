// Planted faults: mistakes on purpose, to see whether the tests notice.
//
//     x86_imm(FAULT(tail_mask_full) ? -1 : mask)
//
// tests/faults puts this file and fault.c into src/base of its copy of the sources, and makes the
// replacements of tests/fault.def there. FAULT(name) is true if the environment has LW_FAULT=name.
#ifndef LW_BASE_FAULT_H
#define LW_BASE_FAULT_H

#define FAULT(NAME)                                                                                \
    __extension__({                                                                                \
        extern _Bool fault_##NAME;                                                                 \
        fault_##NAME;                                                                              \
    })

#endif
