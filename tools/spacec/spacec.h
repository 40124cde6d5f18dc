// spacec: compiles the description of a space to C at build time; docs/spaces.md has the language.
//
//   lex.c     tokens
//   parse.c   text -> Spec: sets, choices, rules, triggers; names resolved as they are read
//   check.c   checks of the whole Spec: quotients become rules, `requires` clauses too
//   emit.c    the tables and the access functions of each choice
//   emit_rule.c   constraints: one function per rule, one loop nest per way to reach it
//   emit_count.c  counters and triggers
//   emit_table.c  rules on the pairs of three objects, combined into one table
//   main.c    files in, files out
//
// Rules are universally quantified disjunctions. Everything else (requires, quotients) becomes
// rules, so that there is one way to propagate: if only one alternative of a rule is not false, it
// becomes true.
#ifndef SPACEC_H
#define SPACEC_H

#include "base/diag.h"
#include "base/name.h"

enum { MAX_VARS = 6, MAX_VALUES = 64, MAX_ATOMS = 16 };

typedef enum TokenKind {
    TOK_END,
    TOK_WORD,
    TOK_VAR,
    TOK_CODE,
    TOK_MARK,
    TOK_ELIDED,
    TOK_BAD
} TokenKind;

typedef struct Token {
    TokenKind kind;
    Range range;
    Name text; // spelling of a mark, or the code between the quotes
} Token;

typedef struct Lexer {
    const Source *source;
    DiagList *diags;
    Names *names;
    uint32_t pos;
} Lexer;
Token lex_next(Lexer *lx);

// `Dimensions`, `OwnDims($inst)`
typedef struct SetRef {
    int set;
    int param; // variable of its parameter; -1: none
} SetRef;

typedef struct Var {
    Name name;
    SetRef set;
    Range range;
} Var;

// The variables in scope, outermost first.
typedef struct Scope {
    int n;
    Var var[MAX_VARS];
} Scope;

typedef struct SetDef {
    Name name;
    Range range;
    int superset; // -1
    int param;    // the set of its parameter; -1
    Name getter;  // of the item for $x in code; NULL: the object's number
    VEC(int) disjoint;
    int quotient; // the boolean choice of membership; -1: an ordinary set
    int base;     // base set of a quotient
} SetDef;

typedef enum AtomKind { ATOM_CONST, ATOM_CODE, ATOM_ENUM, ATOM_SAME, ATOM_CMP } AtomKind;
typedef enum Cmp { CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_EQ, CMP_NE } Cmp;

// A choice applied to variables of the scope.
typedef struct Use {
    int choice; // -1: code
    int arg[2];
    Name code;
} Use;

// One alternative of a disjunction.
typedef struct Atom {
    AtomKind kind;
    bool value;    // CONST
    Use left;      // ENUM, SAME, CMP; CODE: left.code
    uint64_t mask; // ENUM: the values for which it holds
    Cmp cmp;       // CMP; SAME: EQ or NE
    Use right;     // SAME, CMP
    Range range;
} Atom;

typedef struct Rule {
    Scope scope;
    VEC(Atom) atom; // at least one must hold
    Range range;
    int table; // part of the table of this choice; -1: separate
} Rule;

typedef enum ChoiceKind { SPEC_ENUM, SPEC_INTEGER, SPEC_COUNTER } ChoiceKind;

typedef struct Alias {
    Name name;
    uint64_t mask;
} Alias;

typedef struct Choice {
    Name name;
    Range range;
    ChoiceKind kind;
    Scope scope; // its objects; for a counter, followed by the counted ones
    int arity;
    // an enumeration
    VEC(Name) value;
    VEC(Alias) alias;
    bool symmetric; // or antisymmetric
    int inverse[MAX_VALUES];
    bool elided;
    // an integer
    Name universe;
    // a counter
    bool half, product;
    Name base;
    Use amount;
    VEC(Atom) when; // all must hold
} Choice;

typedef struct Trigger {
    Scope scope;
    Name code;
    VEC(Atom) when;
    Range range;
} Trigger;

// repr = when / equiv is mask: the least object of each class that satisfies `when`.
typedef struct Quotient {
    int set, repr;
    Scope scope; // parameters, then the object
    VEC(Atom) when;
    int equiv;
    uint64_t mask;
    Range range;
} Quotient;

typedef struct Spec {
    Arena *arena;
    Names *names;
    const Source *source;
    DiagList *diags;
    Name name;              // of the space: the file's
    Name host_type, header; // type of `host` in code, and its header
    VEC(SetDef) set;
    VEC(Choice) choice;
    VEC(Rule) rule;
    VEC(Trigger) trigger;
    VEC(Quotient) quotient;
} Spec;

bool spec_parse(Spec *s);
bool spec_check(Spec *s);
int spec_find_choice(const Spec *s, Name name);
bool set_within(const Spec *s, int set, int of); // whether every object of `set` is in `of`
bool sets_disjoint(const Spec *s, int a, int b);
int set_plain(const Spec *s,
              int set); // base of a quotient, superset of a family
uint64_t choice_all(const Choice *c);
uint64_t choice_invert(const Choice *c, uint64_t mask);

// --- Emission ------------------------------------------------------------------------------------

typedef struct Emit {
    const Spec *spec;
    Text *out;
} Emit;

void emit_space(const Spec *s, Text *c, Text *h);
void emit_access(Emit *e);
void emit_rules(Emit *e);
void emit_counters(Emit *e);
void emit_triggers(Emit *e);
void emit_tables(Emit *e);
void find_tables(Spec *s); // sets Rule.table

// "a, b" for the objects of a use; NULL arguments as -1.
const char *emit_args(Emit *e, const Scope *scope, const Use *u);
// The code with $x replaced.
const char *emit_code(Emit *e, const Scope *scope, Name code);
// Loops over the variables of a scope that `bound` leaves open, with all checks; returns the number
// of braces to close. Variables [0, upto) only. `exist`: objects that exist only.
int emit_loops(Emit *e, const Scope *scope, int upto, unsigned bound, bool exist);
void emit_close(Emit *e, int braces);
// C conditions: certainly holds, certainly fails.
const char *atom_holds(Emit *e, const Scope *scope, const Atom *a);
const char *atom_fails(Emit *e, const Scope *scope, const Atom *a);
// Statements that enforce it (or its negation).
void emit_force(Emit *e, const Scope *scope, const Atom *a, bool hold, const char *indent);

#endif
