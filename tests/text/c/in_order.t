# GCC 12 vectorises the outer loop of a recurrence whose inner loop it has unrolled, and gets wrong results: a barrier stands between
# iterations that read what others wrote.
--- rec.teml
T = tensor(float, [6, 8])
X = tensor(float, [4, 6])
T = add(X, T, [[i1, i2], [i1 + 1, i2]] -> [i1 + 2, i2 + 2])
r = build(T)
codegen(r)
$ loopwright compile rec.teml --emit c -o - | grep -A6 '    for ('
    for (int64_t i1 = 0; i1 < 4; i1++) {
        for (int64_t i2 = 0; i2 < 6; i2++) {
            T[8*i1 + i2 + 18] = X[6*i1 + i2] + T[8*i1 + i2 + 8];
        }
        LW_IN_ORDER;
    }
}
$ for b in interp jit c; do loopwright run rec.teml --backend $b --seed 3 --json | sed 's/.*checksum//; s/values.*//'; done | sort -u | wc -l
1
