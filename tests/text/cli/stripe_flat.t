# Loops are chosen for a flat Stripe program, tiled by unordered blocks or not; one that decides
# something runs as written, and the report says why.
--- tiled.stripe
block []:1 ( // tiled
    in A[0] i32(10):(1)
    out S[0] i32(1):(1)
) {
    0: block [x:3]:3 (
        in A[4*x] i32(4):(1)
        out S[0]:add i32(1):(1)
    ) {
        0: block [x:4, x_0 = x]:4 (
            9 - x - 4*x_0 >= 0
            in A[x] i32(1):(1)
            out S[0]:add i32(1):(1)
        ) { $a = load(A) S = store($a) }
    }
}
--- triangle.stripe
block []:1 ( in A[0] i32(4):(1) out S[0, 0] i32(4, 4):(4, 1) ) {
    0: block [i:4, j:4, k:4]:64 (
        i - j >= 0
        in A[k] i32(1):(1)
        out S[i, j]:add i32(1, 1):(4, 1)
    ) { $a = load(A) S = store($a) }
}
$ loopwright show tiled.stripe --stage program
program tiled {
    input A: i32[10]
    output S: i32[1]

    S: for x in 0:10
        S[0] +=! A[x]
}
$ loopwright show tiled.stripe --stage report | grep stripe
  stripe   flat: its loops are chosen
$ loopwright show tiled.stripe --stage report --as-written | grep stripe
  stripe   runs as written since it was parsed as written
$ loopwright show tiled.stripe --stage tree --as-written | head -2
S[0] = 0
for x in 3 any
$ loopwright show triangle.stripe --stage report | grep stripe
  stripe   runs as written since no statement starts from exactly the elements of 'S' that are initialised (line 5)
$ loopwright show triangle.stripe --stage report --json | grep -oE '"stripe": [^}]*}'
"stripe": {"lifted": false, "reason": "start", "text": "no statement starts from exactly the elements of 'S' that are initialised", "line": 5}
$ loopwright tune triangle.stripe --db none 2>&1 | tail -3
triangle.stripe:5:9: note: it keeps its loops since no statement starts from exactly the elements of 'S' that are initialised
          out S[i, j]:add i32(1, 1):(4, 1)
          ^~~~~
