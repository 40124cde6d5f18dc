# A temporary that no memory holds: the bytes that it takes are said. (Sanitizers say a word, too.)
--- vast.tc
def vast(float(N) x) -> (o) {
    t(i,j) = x(i) * x(j)
    o(i) +=! t(j,i) * t(i,j)
}
$ loopwright run vast.tc --size N=6000000 2>&1 | grep error
error: out of memory: the temporaries take 144000000000000 bytes
$ loopwright run vast.tc --size N=6000000 --json 2>/dev/null | grep -o '"error": "[a-z ]*: the temporaries take [0-9]* bytes"'
"error": "out of memory: the temporaries take 144000000000000 bytes"
$ loopwright run vast.tc --size N=6000000 --backend tree 2>&1 | grep error
error: out of memory: asked for {{[0-9]+}} bytes
