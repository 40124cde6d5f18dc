// What the parts of the CPU space share (private).
#ifndef LW_SPACE_CPU_IMPL_H
#define LW_SPACE_CPU_IMPL_H

#include "space/cpu.h"

// What is known of a statement, cpu_facts.c.
typedef struct CpuStmt {
    const Stmt *s;
    int nreads;
    const Access *const *read; // every access but the write
    const int *class;          // per iterator
    bool apart; // shares no loops: points meet, a sum is empty, or it reads what it writes
    bool init;
} CpuStmt;

typedef struct CpuFacts {
    Arena *arena;
    const Program *p;
    CpuStmt *stmt;
} CpuFacts;

CpuFacts *cpu_facts(Arena *arena, const Program *p);
bool facts_reads(const CpuStmt *s, int tensor);
// Nodes of the value with every definition before it inlined; `most`: so many or more.
int facts_nodes(const CpuFacts *f, int i, int most);
// The one statement that reads what number i alone writes, and comes later; -1: there is none.
int facts_only_reader(const CpuFacts *f, int i);
// Which statements read what number q computes, themselves or through others that may be inlined?
void facts_reach(const CpuFacts *f, int q, const bool *through, bool *reached);
// Is anything that q reads overwritten behind c, before the last reader of c has run?
bool facts_spoils(const CpuFacts *f, int q, int c);
// Must the two keep their order?
bool facts_depend(const CpuStmt *a, const CpuStmt *b);
// May iterator i of one statement and j of another run in one loop: does whatever both touch, one
// of them writing, belong to the same iteration? i or j < 0: they touch nothing together.
bool facts_share(const CpuFacts *f, int a, int i, int b, int j);
// The iterator of `s` that is iterator i of the statement whose result it reads; -1: none.
int facts_follow(const CpuStmt *s, const Stmt *host, int i);

// The loops of the section of a copy: along the lanes, or in blocks of lanes by lanes; how many.
enum { CPU_COPY_LOOPS = 2 * PROGRAM_MAX_RANK + 4 };
int cpu_copy_loops(Arena *arena, const CpuSpace *cs, int window, const Storage *layout, bool turned,
                   SchedLoop *out);

// Does a section say nothing beyond where, in what memory, and how early?
bool cpu_section_is_plain(const SchedStmt *s);
// The loop of a Schedule that object d is in a candidate: iterator and step.
int64_t cpu_step(const CpuSpace *cs, const Cand *c, int dim);
int64_t cpu_size(const CpuSpace *cs, const Cand *c, int dim); // of a tile
bool cpu_used(const CpuSpace *cs, const Cand *c, int dim);

#endif
