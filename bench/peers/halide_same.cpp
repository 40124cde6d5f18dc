// Halide (LLVM) under the same schedule: a Program and a Schedule of ours, as texts, become a
// pipeline with the same loops. What Halide has no word for is answered `no` with the reason, and
// not tuned by hand.
//
//     same FILE           run what FILE describes
//     compile-same FILE   compile it, once per call
//
// The description, one line each: program PATH, schedule PATH, lanes N, and the arguments in order,
// `in BYTES PATH` or `out BYTES`.
//
// A sum whose reduction loops all stand inside of its other loops keeps its block of the result in
// registers in our code. The same here: the sum is a Func of its own, computed at the innermost
// loop outside of the reductions, its inner loops unrolled. Where a reduction stands further out
// the result itself is updated, in the same loops. Loops inside of all reductions are unrolled, as
// they are in our code.
//
// need: Halide.h
// flags: -isystem /usr/include/halide14
// link: -lHalide14 -lpthread -ldl
#include <Halide.h>

#include "peer.h"

#include <cctype>
#include <fstream>
#include <map>
#include <sstream>

using namespace Halide;
using std::map;
using std::string;
using std::vector;

namespace {

struct Cannot {
    string why;
};

[[noreturn]] void cannot(const string &why) { throw Cannot{why}; }

// --- Texts ---------------------------------------------------------------------------------------

struct Loop {
    string var;
    int64_t size; // of the loops inside; 0: this is the innermost of its variable
    string mark;
};

struct Copy {
    string tensor, at;
    vector<string> layout; // of it, outermost first, splits left out
};

struct Section {
    vector<Loop> loops;
    vector<Copy> copies;
};

struct Iter {
    string name;
    int from, to;
};

struct Tensor {
    string name, role;
    vector<int> size;
};

struct Statement {
    string label, tensor, op, left, right, conditions; // texts of subscripts and value
    vector<Iter> iters;
};

struct Source {
    vector<Tensor> tensors;
    vector<Statement> statements;
};

vector<string> split_words(const string &s) {
    std::istringstream in(s);
    vector<string> words;
    for (string w; in >> w;) words.push_back(w);
    return words;
}

Loop read_loop(const string &word) {
    Loop l{word, 0, ""};
    size_t colon = word.find(':');
    if (colon != string::npos) l.mark = word.substr(colon + 1), l.var = word.substr(0, colon);
    size_t slash = l.var.find('/');
    if (slash != string::npos)
        l.size = atoll(l.var.c_str() + slash + 1), l.var = l.var.substr(0, slash);
    return l;
}

// "copy B at n/64 layout (n/64 k n) align 64"
Copy read_copy(const vector<string> &w) {
    Copy c{w[1], w.size() > 3 ? w[3] : "", {}};
    for (size_t i = 5; i < w.size() && w[4] == "layout"; i++) {
        string name = w[i];
        bool last = name.back() == ')';
        name.erase(
            std::remove_if(name.begin(), name.end(), [](char x) { return x == '(' || x == ')'; }),
            name.end());
        if (name.find('/') == string::npos) c.layout.push_back(name);
        if (last) break;
    }
    return c;
}

map<string, Section> read_schedule(const string &text) {
    map<string, Section> all;
    std::istringstream in(text);
    Section *now = nullptr;
    for (string line; std::getline(in, line);) {
        auto words = split_words(line);
        if (words.empty()) continue;
        if (line[0] != ' ') {
            now = &all[words[0].substr(0, words[0].size() - 1)];
            for (size_t i = 1; i < words.size(); i++) {
                if (words[i] == "|") cannot("loops that are kept apart (|)");
                now->loops.push_back(read_loop(words[i]));
            }
        } else if (words[0] == "copy") {
            now->copies.push_back(read_copy(words));
        } else if (words[0] == "nontemporal" || words[0] == "prefetch" || words[0] == "at" ||
                   words[0] == "inline" || words[0] == "accumulators" || words[0] == "after") {
            cannot("'" + line.substr(line.find_first_not_of(' ')) + "'");
        }
    }
    return all;
}

// "C: for m in 0:64, k in 0:64 if CONDITIONS" and the line below it.
Statement read_statement(const string &head, const string &body) {
    Statement s;
    size_t colon = head.find(": for "), conditions = head.find(" if ");
    s.label = head.substr(0, colon);
    if (conditions != string::npos) s.conditions = head.substr(conditions + 4);
    std::istringstream in(head.substr(colon + 6, conditions - colon - 6));
    for (string part; std::getline(in, part, ',');) {
        char name[64];
        Iter i;
        if (sscanf(part.c_str(), " %63s in %d:%d", name, &i.from, &i.to) != 3) cannot("a range");
        i.name = name;
        s.iters.push_back(i);
    }
    size_t open = body.find('['), close = body.find(']'), space = body.find(' ', close + 2);
    s.tensor = body.substr(0, open);
    s.left = body.substr(open + 1, close - open - 1);
    s.op = body.substr(close + 2, space - close - 2);
    s.right = body.substr(space + 1);
    return s;
}

Source read_program(const string &text) {
    Source p;
    std::istringstream in(text);
    string head;
    for (string line; std::getline(in, line);) {
        size_t from = line.find_first_not_of(' ');
        if (from == string::npos) continue;
        line = line.substr(from);
        auto words = split_words(line);
        if (words[0] == "program" || words[0] == "}") continue;
        if (words[0] == "input" || words[0] == "output" || words[0] == "temp") {
            Tensor t{words[1].substr(0, words[1].size() - 1), words[0], {}};
            if (words[2].compare(0, 3, "f32")) cannot("other types than f32");
            for (const char *c = strchr(line.c_str(), '['); c && *c && *c != ']';)
                t.size.push_back(static_cast<int>(strtol(c + 1, const_cast<char **>(&c), 10)));
            p.tensors.push_back(t);
        } else if (line.find(": for ") != string::npos) {
            head = line;
        } else if (!head.empty()) {
            p.statements.push_back(read_statement(head, line));
            head.clear();
        } else {
            cannot("'" + line + "'");
        }
    }
    return p;
}

// --- Expressions ---------------------------------------------------------------------------------

using Names = map<string, Expr>;
using Read = std::function<Expr(const string &, const vector<Expr> &)>;

struct Parser {
    const char *c;
    const Names &names;
    const Read &read;

    void blanks() {
        while (*c == ' ') c++;
    }
    bool take(char x) {
        blanks();
        return *c == x ? c++, true : false;
    }
    Expr sum() {
        Expr e = product();
        for (;;) {
            if (take('+'))
                e = e + product();
            else if (take('-'))
                e = e - product();
            else
                return e;
        }
    }
    Expr product() {
        Expr e = factor();
        for (;;) {
            if (take('*'))
                e = e * factor();
            else if (take('/'))
                e = e / factor();
            else
                return e;
        }
    }
    vector<Expr> list(char end) {
        vector<Expr> all;
        while (!take(end)) {
            all.push_back(sum());
            take(',');
        }
        return all;
    }
    Expr factor() {
        blanks();
        if (take('-')) return -factor();
        if (take('(')) {
            Expr e = sum();
            if (!take(')')) cannot("an expression");
            return e;
        }
        if (isdigit(*c)) return number();
        string name;
        while (isalnum(*c) || *c == '_' || *c == '.') name += *c++;
        if (take('[')) return read(name, list(']'));
        if (take('(')) return call(name, list(')'));
        if (!names.count(name)) cannot("'" + name + "'");
        return names.at(name);
    }
    Expr number() {
        char *end;
        double value = strtod(c, &end);
        bool real = string(c, static_cast<size_t>(end - c)).find_first_of(".e") != string::npos;
        c = end;
        return real ? Expr(static_cast<float>(value)) : Expr(static_cast<int>(value));
    }
    Expr call(const string &f, const vector<Expr> &a) {
        if (f == "relu") return max(a[0], 0.f);
        if (f == "exp") return exp(a[0]);
        if (f == "sqrt") return sqrt(a[0]);
        if (f == "max") return max(a[0], a[1]);
        if (f == "min") return min(a[0], a[1]);
        if (f == "abs" || f == "fabs") return abs(a[0]);
        cannot("the function '" + f + "'");
    }
};

// "a + 1 >= 0, ..." as one condition.
Expr conditions(const string &text, const Names &names, const Read &read) {
    Expr all = Internal::const_true();
    std::istringstream in(text);
    for (string part; std::getline(in, part, ',');) {
        size_t at = part.find(">=");
        string left = part.substr(0, at);
        Parser p{left.c_str(), names, read};
        all = all && p.sum() >= 0;
    }
    return all;
}

// --- Pipelines -----------------------------------------------------------------------------------

struct Maker {
    Source p;
    map<string, Section> schedule;
    map<string, Buffer<float>> inputs;
    map<string, Func> funcs;
    int lanes = 16, serial = 0;

    const Tensor &tensor(const string &name) const {
        for (auto &t : p.tensors)
            if (t.name == name) return t;
        cannot("'" + name + "'");
    }

    Expr element(const string &name, vector<Expr> at) {
        std::reverse(at.begin(), at.end());
        if (inputs.count(name)) return inputs.at(name)(at);
        if (funcs.count(name)) return funcs.at(name)(at);
        cannot("'" + name + "' before it is made");
    }

    static bool is_iter(const string &s) {
        return s.find_first_not_of(
                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") ==
               string::npos;
    }

    vector<string> subscripts(const Statement &s) {
        vector<string> all;
        std::istringstream in(s.left);
        for (string part; std::getline(in, part, ',');) {
            part.erase(0, part.find_first_not_of(' '));
            all.push_back(part);
        }
        return all;
    }

    // The loops of `stage` in the order of `loops`; `known` are its variables by name. Loops from
    // `block` on that are no reductions are unrolled. What each loop became, in `made`.
    void arrange(Stage stage, const vector<Loop> &loops, map<string, VarOrRVar> known,
                 const map<string, int> &extent, size_t block, vector<VarOrRVar> &made) {
        map<string, int> left = extent;
        vector<VarOrRVar> order;
        for (auto &l : loops) {
            if (!known.count(l.var)) cannot("a loop over '" + l.var + "' here");
            VarOrRVar now = known.at(l.var);
            if (l.size && l.size < left[l.var]) {
                string base = l.var + std::to_string(++serial);
                VarOrRVar outer =
                    now.is_rvar ? VarOrRVar(RVar(base + "o")) : VarOrRVar(Var(base + "o"));
                VarOrRVar inner =
                    now.is_rvar ? VarOrRVar(RVar(base + "i")) : VarOrRVar(Var(base + "i"));
                stage.split(now, outer, inner, static_cast<int>(l.size), TailStrategy::GuardWithIf);
                known.at(l.var) = inner;
                left[l.var] = static_cast<int>(l.size);
                order.push_back(outer);
            } else {
                order.push_back(now);
            }
        }
        made = order;
        vector<VarOrRVar> inside;
        for (size_t i = 0; i < loops.size(); i++) {
            bool vector_loop = loops[i].mark == "v";
            if (vector_loop && i + 1 != loops.size()) cannot("a vector loop that is not innermost");
            if (vector_loop)
                lanes_of(stage, order[i], left[loops[i].var], inside);
            else
                inside.push_back(order[i]);
            if (!vector_loop && i >= block && !order[i].is_rvar) stage.unroll(order[i]);
        }
        std::reverse(inside.begin(), inside.end());
        stage.reorder(inside);
    }

    void lanes_of(Stage stage, VarOrRVar v, int extent, vector<VarOrRVar> &inside) {
        if (extent <= lanes) {
            stage.vectorize(v);
            inside.push_back(v);
            return;
        }
        string base = "v" + std::to_string(++serial);
        VarOrRVar outer = v.is_rvar ? VarOrRVar(RVar(base + "o")) : VarOrRVar(Var(base + "o"));
        VarOrRVar inner = v.is_rvar ? VarOrRVar(RVar(base + "i")) : VarOrRVar(Var(base + "i"));
        stage.split(v, outer, inner, lanes, TailStrategy::GuardWithIf).vectorize(inner);
        if (extent <= 8 * lanes && extent % lanes == 0) stage.unroll(outer);
        inside.push_back(outer);
        inside.push_back(inner);
    }

    static map<string, int> extents(const Statement &s) {
        map<string, int> all;
        for (auto &i : s.iters) all[i.name] = i.to - i.from;
        return all;
    }

    // An assignment to elements that are not just the iterators: an update over a domain.
    void update(const Statement &s) {
        Func f = funcs.at(s.tensor);
        Region range;
        for (auto &i : s.iters) range.emplace_back(i.from, i.to - i.from);
        RDom r(range);
        Names names;
        map<string, VarOrRVar> known;
        for (size_t i = 0; i < s.iters.size(); i++) {
            names[s.iters[i].name] = r[static_cast<int>(i)];
            known.emplace(s.iters[i].name, VarOrRVar(r[static_cast<int>(i)]));
        }
        Read read = [this](const string &n, const vector<Expr> &at) { return element(n, at); };
        vector<Expr> at;
        for (auto &sub : subscripts(s)) at.push_back(Parser{sub.c_str(), names, read}.sum());
        std::reverse(at.begin(), at.end());
        f(at) = Parser{s.right.c_str(), names, read}.sum();
        Stage stage = f.update(f.num_update_definitions() - 1);
        stage.allow_race_conditions();
        vector<VarOrRVar> made;
        arrange(stage, schedule[s.label].loops, known, extents(s), SIZE_MAX, made);
    }

    void pure(const Statement &s) {
        vector<Var> at;
        Names names;
        map<string, VarOrRVar> known;
        for (auto &sub : subscripts(s)) {
            at.emplace_back(sub);
            names[sub] = at.back();
            known.emplace(sub, VarOrRVar(at.back()));
        }
        std::reverse(at.begin(), at.end());
        Read read = [this](const string &n, const vector<Expr> &e) { return element(n, e); };
        Func f(s.tensor);
        f(at) = Parser{s.right.c_str(), names, read}.sum();
        funcs[s.tensor] = f;
        bounds(f, s);
        f.compute_root();
        vector<VarOrRVar> made;
        arrange(f, schedule[s.label].loops, known, extents(s), SIZE_MAX, made);
    }

    void bounds(Func f, const Statement &s) {
        const Tensor &t = tensor(s.tensor);
        auto subs = subscripts(s);
        for (size_t i = 0; i < subs.size(); i++)
            if (t.role == "output") f.bound(Var(subs[i]), 0, t.size[i]);
    }

    void sum(const Statement &s) {
        const Section &section = schedule[s.label];
        auto subs = subscripts(s);
        map<string, VarOrRVar> known;
        Names names;
        vector<Var> at;
        for (auto &sub : subs) {
            at.emplace_back(sub);
            names[sub] = at.back();
            known.emplace(sub, VarOrRVar(at.back()));
        }
        std::reverse(at.begin(), at.end());
        Region range;
        vector<string> reduced;
        for (auto &i : s.iters)
            if (!names.count(i.name))
                range.emplace_back(i.from, i.to - i.from), reduced.push_back(i.name);
        RDom r(range);
        for (size_t i = 0; i < reduced.size(); i++) {
            names[reduced[i]] = r[static_cast<int>(i)];
            known.emplace(reduced[i], VarOrRVar(r[static_cast<int>(i)]));
        }
        map<string, Func> copies;
        Read read = [&](const string &n, const vector<Expr> &e) {
            for (auto &c : section.copies)
                if (c.tensor == n) return copied(n, e, copies);
            return element(n, e);
        };
        if (!s.conditions.empty()) r.where(conditions(s.conditions, names, read));
        Expr value = Parser{s.right.c_str(), names, read}.sum();
        size_t first = 0, last = 0; // the first loop over a reduction; behind the last one
        for (size_t i = section.loops.size(); i-- > 0;)
            if (known.at(section.loops[i].var).is_rvar) first = i, last = last ? last : i + 1;
        bool outside = false; // does a reduction stand outside of the blocks of the result?
        for (size_t i = first; i < section.loops.size(); i++) outside |= section.loops[i].size != 0;
        for (size_t i = first; i < last; i++) outside |= !known.at(section.loops[i].var).is_rvar;
        Func out(s.tensor), block("sum");
        funcs[s.tensor] = out;
        vector<VarOrRVar> made;
        map<string, int> extent = extents(s);
        if (outside || first == 0) {
            out(at) = 0.f;
            out(at) += value;
            arrange(out.update(), section.loops, known, extent, last, made);
            out.vectorize(at[0], lanes);
        } else {
            block(at) += value;
            out(at) = block(at);
            vector<Loop> outer(section.loops.begin(),
                               section.loops.begin() + static_cast<long>(first)),
                inner(section.loops.begin() + static_cast<long>(first), section.loops.end()),
                all = outer, zero;
            for (auto &l : inner)
                if (!known.at(l.var).is_rvar) all.push_back(l), zero.push_back(l);
            arrange(out, all, known, extent, first, made);
            for (auto &l : outer)
                if (l.size)
                    extent[l.var] = static_cast<int>(std::min<int64_t>(l.size, extent[l.var]));
            // Whole blocks, also at the ends, where what is too much is not taken over: Halide 14
            // makes wrong code of unrolled loops whose extent varies.
            for (auto &v : at)
                if (extent[v.name()] < extents(s)[v.name()])
                    block.bound_extent(v, extent[v.name()]);
            block.compute_at(out, made[first - 1].var);
            vector<VarOrRVar> unused;
            arrange(block, zero, known, extent, 0, unused);
            arrange(block.update(), inner, known, extent, last - first, unused);
        }
        bounds(out, s);
        out.compute_root();
        for (auto &c : section.copies) place_copy(c, section, out, made, copies, s);
    }

    Expr copied(const string &name, vector<Expr> e, map<string, Func> &copies) {
        std::reverse(e.begin(), e.end());
        if (!copies.count(name)) {
            vector<Var> at(e.size());
            vector<Expr> same(at.begin(), at.end());
            std::reverse(same.begin(), same.end());
            Func f(name + "_copy");
            f(at) = element(name, same);
            copies[name] = f;
        }
        return copies.at(name)(e);
    }

    // At the loop it is copied at; its fastest dimension in lanes.
    void place_copy(const Copy &c, const Section &section, Func out, const vector<VarOrRVar> &made,
                    map<string, Func> &copies, const Statement &s) {
        Func f = copies.at(c.tensor);
        size_t at = section.loops.size();
        Loop want = read_loop(c.at);
        for (size_t i = 0; i < section.loops.size() && at == section.loops.size(); i++)
            if (section.loops[i].var == want.var && section.loops[i].size == want.size) at = i;
        if (at >= made.size()) cannot("a copy at the loop '" + c.at + "'");
        if (made[at].is_rvar)
            f.compute_at(out, made[at].rvar);
        else
            f.compute_at(out, made[at].var);
        f.vectorize(f.args()[0], lanes, TailStrategy::GuardWithIf);
        (void)s;
    }

    Pipeline make() {
        string last;
        for (auto &s : p.statements) {
            bool plain = true;
            for (auto &sub : subscripts(s)) plain &= is_iter(sub);
            if (s.op == "=" && !funcs.count(s.tensor) && plain)
                pure(s);
            else if (s.op == "=" && funcs.count(s.tensor))
                update(s);
            else if (s.op == "+=!" && plain && !funcs.count(s.tensor))
                sum(s);
            else
                cannot("'" + s.tensor + " " + s.op + "' in this place");
        }
        for (auto &t : p.tensors)
            if (t.role == "output") last = t.name;
        return Pipeline(funcs.at(last));
    }
};

// --- The peer ------------------------------------------------------------------------------------

struct {
    std::function<void()> run;
    Buffer<float> out;
    Source program;
    string schedule;
    int lanes;
    map<string, Buffer<float>> inputs;
} task;

string read_file(const string &path) {
    std::ifstream in(path);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
}

Target here() {
    Target t = get_jit_target_from_environment();
    return t.with_feature(Target::NoAsserts).with_feature(Target::NoBoundsQuery);
}

Pipeline build() {
    Maker m;
    m.p = task.program, m.schedule = read_schedule(task.schedule);
    m.inputs = task.inputs, m.lanes = task.lanes;
    Pipeline p = m.make();
    p.compile_jit(here());
    return p;
}

Buffer<float> buffer(float *data, vector<int> size) {
    std::reverse(size.begin(), size.end());
    return Buffer<float>(data, size);
}

void describe(const string &path) {
    std::ifstream in(path);
    vector<string> given;
    task.inputs.clear();
    for (string line; std::getline(in, line);) {
        auto w = split_words(line);
        if (w[0] == "program") task.program = read_program(read_file(w[1]));
        if (w[0] == "schedule") task.schedule = read_file(w[1]);
        if (w[0] == "lanes") task.lanes = atoi(w[1].c_str());
        if (w[0] == "in") given.push_back(w[2]);
    }
    size_t next = 0;
    for (auto &t : task.program.tensors) {
        size_t n = 1;
        for (int s : t.size) n *= static_cast<size_t>(s);
        if (t.role == "input") {
            float *x = peer_floats(n);
            FILE *f = fopen(given.at(next++).c_str(), "rb");
            if (!f || fread(x, sizeof *x, n, f) != n) cannot("an operand");
            fclose(f);
            task.inputs.emplace(t.name, buffer(x, t.size));
        }
        if (t.role == "output") task.out = buffer(peer_floats(n), t.size);
    }
}

bool prepare(const PeerTask *t, const char **why) {
    static string said;
    task.run = [] {};
    bool compiles = !strcmp(t->op, "compile-same");
    if (strcmp(t->op, "same") && !compiles) return false;
    try {
        describe(t->text);
        double begin = peer_now();
        Pipeline p = build();
        peer_compiled_ns = peer_now() - begin;
        task.run = [p]() mutable { p.realize(task.out); };
        if (compiles) task.run = [] { build(); };
        return true;
    } catch (Cannot &c) {
        said = "cannot express " + c.why;
    } catch (std::exception &e) {
        said = string("Halide: ") + e.what();
        std::replace(said.begin(), said.end(), '\n', ' ');
    }
    *why = said.c_str();
    return false;
}

void call() { task.run(); }

const float *result(size_t *n) {
    *n = task.out.number_of_elements();
    return task.out.data();
}

} // namespace

// LLVM sets itself up at its first compilation, which copies of this process need not repeat.
static void set_up() {
    Func f;
    Var x;
    f(x) = x;
    f.compile_jit(here());
}

int main() {
    set_up();
    Peer peer = {"Halide 14 (LLVM), the same schedule", prepare, call, result};
    return peer_main(&peer);
}
