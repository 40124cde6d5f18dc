# gcc contracts products that are added in some lanes and subtracted in others, in spite of -ffp-contract=off.
--- rope.tc
def rope(float(N,2*H) X, float(N,H) C, float(N,H) S) -> (float(N,2*H) O) {
    O(n,2*i) = X(n,2*i) * C(n,i) - X(n,2*i + 1) * S(n,i) where i in 0:H
    O(n,2*i + 1) = X(n,2*i + 1) * C(n,i) + X(n,2*i) * S(n,i) where i in 0:H
}
--- negated.tc
def negated(double(N,2*H) X, double(N,H) C, double(N,H) S) -> (double(N,2*H) O) {
    O(n,2*i) = -(X(n,2*i + 1) * S(n,i)) + X(n,2*i) * C(n,i) where i in 0:H
    O(n,2*i + 1) = X(n,2*i + 1) * C(n,i) + X(n,2*i) * S(n,i) where i in 0:H
}
$ for b in interp jit c; do loopwright run rope.tc --size N=129,H=38 --backend $b | grep out; done | uniq
  out      f32(129, 76) O: checksum c73a643549e65d7e
$ for b in interp jit c; do loopwright run negated.tc --size N=129,H=38 --backend $b | grep out; done | uniq | wc -l
1
$ loopwright compile rope.tc --size N=129,H=38 --emit c -o - | grep ' - '
            O[76*n + 2*i] = LW_ROUND(X[76*n + 2*i]*C[38*n + i]) - LW_ROUND(X[76*n + 2*i + 1]*S[38*n + i]);
