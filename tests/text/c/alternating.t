# Products are rounded also where sums and differences alternate, however they are written: gcc 12 fuses those in spite of
# -ffp-contract=off. Other versions do not, so the text of the C is compared, too.
--- f.tc
def complex(double(2*N) A, double(2*N) B) -> (double(2*N) O) {
    O(2*i) = A(2*i) * B(2*i) - A(2*i + 1) * B(2*i + 1) where i in 0:N
    O(2*i + 1) = A(2*i + 1) * B(2*i) + A(2*i) * B(2*i + 1) where i in 0:N
}
def negated(float(2*N) A, float(2*N) B, float(2*N) C) -> (float(2*N) O) {
    O(2*i) = -C(2*i) + A(2*i) * B(2*i) where i in 0:N
    O(2*i + 1) = C(2*i + 1) + A(2*i + 1) * B(2*i + 1) where i in 0:N
}
def kept(float(N,2) A, float(N,2) B, float(N,2) C) -> (O) {
    t(i,j) = A(i,j) * B(i,j)
    O(i,j) = j == 0 ? t(i,j) - C(i,j) : t(i,j) + C(i,j)
}
$ for b in interp c jit; do loopwright run f.tc --def complex --size N=1001 --backend $b | grep -o 'checksum .*'; done | sort -u | wc -l
1
$ for b in interp c jit; do loopwright run f.tc --def negated --size N=1001 --backend $b | grep -o 'checksum .*'; done | sort -u | wc -l
1
$ for b in interp c jit; do loopwright run f.tc --def kept --size N=1001 --backend $b | grep -o 'checksum .*'; done | sort -u | wc -l
1
$ loopwright compile f.tc --def complex --size N=4 --emit c -o f.c && grep -c ' = .*LW_ROUND(.*LW_ROUND(' f.c
2
