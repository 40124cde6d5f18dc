# `compile` writes the loops of any language as Stripe text, which runs; and TeML as C and as an object.
--- scale.teml
A = tensor([4, 6])
B = tensor([4, 6])
B = entrywise_add(A, A)
l = build(B)
t = interchange(l, 1, 2)
codegen(t)
$ loopwright compile scale.teml --emit stripe -o -
block []:1 ( // t
    in A[0, 0] fp64(4, 6):(6, 1)
    out B[0, 0] fp64(4, 6):(6, 1)
) {
    0: #serial block [i2:6]:6 (
        in A[0, i2] fp64(4, 1):(6, 1)
        out B[0, i2]:assign fp64(4, 1):(6, 1)
    ) {
        0: #serial block [i1:4]:4 (
            in A[i1, 0] fp64(1, 1):(6, 1)
            out B[i1, 0]:assign fp64(1, 1):(6, 1)
        ) {
            0: $A = load(A)
            1: $0 = add($A, $A)
            2: B = store($0)
        }
    }
}
$ loopwright compile scale.teml --emit stripe --name twice -o twice.stripe && loopwright check twice.stripe
twice(f64(4, 6) A) -> (f64(4, 6) B)
$ loopwright compile @/examples/tc/mv.tc --size M=4,K=3 --emit stripe --schedule naive -o mv.stripe && loopwright check mv.stripe
mv(f32(4, 3) A, f32(3) x) -> (f32(4) C)
$ loopwright compile scale.teml --emit c -o t.c && loopwright compile scale.teml --emit obj -o o.o && ls
mv.stripe
o.h
o.o
scale.teml
t.c
t.h
twice.stripe
$ loopwright compile scale.teml --emit stripe -o t.c
--- stderr
loopwright compile: -o t.c: the name of the loops file must end in .stripe
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
