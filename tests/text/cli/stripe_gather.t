# Stripe programs that gather: random indices stay inside what they index, a bad one is pointed at by every
# back-end, and as written the instances that run are counted, those that constraints leave out are not.
--- take.stripe
block []:1 ( // take
    in A[0] i32(6):(1)
    in I[0] i32(10):(1)
    out O[0] i32(10):(1)
) {
    0: block [i:4, j:3]:12 (
        9 - 3*i - j >= 0
        in A[0] i32(6):(1)
        in I[3*i + j] i32(1):(1)
        out O[3*i + j] i32(1):(1)
    ) {
        0: $i = load(I)
        1: $a = load(A[$i])
        2: O = store($a)
    }
}
--- late.lwp
program late {
    input A: i32[6]
    inout I: i32[10]
    output O: i32[10]
    I: for i in 0:10
        I[i] = select(I[i] == 3, 9, 0)
    O: for i in 0:10
        O[i] = A[I[i]]
}
$ loopwright run take.stripe --backend tree --as-written
take(i32(6) A, i32(10) I) -> (i32(10) O)
  sizes    no sizes
  backend  tree: 10 iterations in {{[0-9.]+ .?s}}
  in       i32(6) A: random, seed 0
  in       i32(10) I: random, seed 0
  out      i32(10) O: checksum 5d0827f0c071949f
           [-3, -3, 4, -3, -3, -3, ...]
$ @/tests/npy write i.npy '<i4' 10 0 1 2 3 4 5 6 0 0 0
$ loopwright run take.stripe --in I=i.npy --backend tree --as-written
--- stderr
take.stripe:14:12: error: index 6 of dimension 0 is outside 'A', which has 6 there
          2: O = store($a)
             ^~~~~~~~~~~~~
--- exit 1
$ loopwright run take.stripe --in I=i.npy --backend c --as-written
--- stderr
take.stripe:14:12: error: index 6 of dimension 0 is outside 'A', which has 6 there
          2: O = store($a)
             ^~~~~~~~~~~~~
--- exit 1
$ loopwright run take.stripe --in I=i.npy --backend jit --as-written
--- stderr
take.stripe:14:12: error: index 6 of dimension 0 is outside 'A', which has 6 there
          2: O = store($a)
             ^~~~~~~~~~~~~
--- exit 1
$ loopwright run take.stripe --in I=i.npy --backend interp
--- stderr
take.stripe:14:12: error: statement 'O': subscript 1 of 'A' is I[3*i + j] = 6 at i = 2, j = 0, outside [0, 6)
          2: O = store($a)
             ^~~~~~~~~~~~~
note: I[6] is 6
--- exit 1
$ loopwright run take.stripe --in I=i.npy --backend jit
--- stderr
take.stripe:14:12: error: statement 'O': subscript 1 of 'A' is I[3*i + j] = 6 at i = 2, j = 0, outside [0, 6)
          2: O = store($a)
             ^~~~~~~~~~~~~
note: I[6] is 6
--- exit 1
$ loopwright run late.lwp --in I=i.npy --backend jit
--- stderr
error: a computed subscript of 'late' is outside of its tensor
--- exit 1
