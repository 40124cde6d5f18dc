# Of loops that are to be unrolled the inner ones are first, as far as the copies of a statement go.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- all.lws
C: m:u n:u k:u
--- tile.lws
C: m/6 n/16 k m:u n:u
$ loopwright compile mm.tc --size M=40,K=5,N=40 --schedule all.lws --emit c -o a.c && grep -A1 unroll a.c
        #pragma GCC unroll 40
        for (int64_t n = 0; n < 40; n++) {
--
            #pragma GCC unroll 5
            for (int64_t k = 0; k < 5; k++) {
$ loopwright compile mm.tc --size M=40,K=5,N=40 --schedule tile.lws --emit c -o t.c && grep unroll t.c
                #pragma GCC unroll 6
                    #pragma GCC unroll 16
                #pragma GCC unroll 6
                    #pragma GCC unroll 16
