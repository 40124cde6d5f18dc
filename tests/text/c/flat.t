# Arguments are described as their caller sees them, although loops run through them as flat ones.
--- pw.tc
def pw(float(C,H,W) I, float(K,C) F) -> (O) {
    O(k,h,w) +=! I(c,h,w) * F(k,c)
}
$ loopwright show pw.tc --size C=4,K=3,H=5,W=7 --isa avx512 --threads 1 --stage schedule | head -1
flatten
$ loopwright compile pw.tc --size C=4,K=3,H=5,W=7 --isa avx2 --emit obj -o pw.o; grep 'f32\[' pw.h
// pw: I f32[4, 5, 7], F f32[3, 4], O f32[3, 5, 7]
$ loopwright compile pw.tc --size C=4,K=3,H=5,W=7 --emit c -o pc.c; grep 'f32\[' pc.h
// pw: I f32[4, 5, 7], F f32[3, 4], O f32[3, 5, 7]
