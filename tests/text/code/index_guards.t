# A choice by the remainder of an index runs in lanes of 32 bits, and its branches read under masks.
--- rope.tc
def rope(float(S,E) X, float(S,E) C, float(S,E) Z) -> (O) {
    O(s,e) = X(s,e) * C(s,e) + (e % 2 == 0 ? 0.0 - X(s,e+1) : X(s,e-1)) * Z(s,e) where e in 0:E
}
--- mixed.tc
def mixed(int(N,M) A) -> (O) {
    O(i,j) = (3*i - 2*j) % 5 != 2 ? A(i,j) : (i - j) / 3 == -2 ? 7 : (j + 1) % 3 > 1 ? -A(i,j) : i
}
--- large.tc
def large(int(N,M) A) -> (O) {
    O(i,j) = (2000000000*i + j) % 7 == 3 ? A(i,j) : (3000000000*i - j) / 2 >= 3000000000 ? 1 : 0
}
$ loopwright show rope.tc --size S=9,E=130 --isa avx2 --stage report | grep -A1 declined
  declined  nothing
$ loopwright run rope.tc --size S=900,E=1130 --check | grep check
  check    right: bit for bit, against the interpreter
$ for isa in scalar avx2 avx512; do loopwright run mixed.tc --size N=37,M=61 --isa $isa | grep out; done | uniq
  out      i64(37, 61) O: checksum 7c9eca0b7b6ccc72
$ for isa in scalar avx2 avx512; do loopwright run large.tc --size N=37,M=61 --isa $isa | grep out; done | uniq
  out      i32(37, 61) O: checksum 143cd07e25f7c8d7
