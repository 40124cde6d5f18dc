# A page about one program, and the JSON that it is made of.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
$ loopwright explain mm.tc --size M=16,N=16,K=16 -o mm.html
mm.html
$ grep -cE 'src=|href="http' mm.html; grep -oE '"(lines|resources|decisions|asm|roof)": [{["]' mm.html
0
"lines": [
"asm": "
"lines": [
"lines": [
"roof": {
"resources": [
"decisions": [
$ grep -oE '"name": "kind\(C.n.[0-9]\)", "value": "VECTOR"' mm.html
"name": "kind(C.n.{{[0-9]}})", "value": "VECTOR"
$ loopwright explain mm.tc --size M=16,N=16,K=16 --threads 2 --db none -o mm.html && grep -c '"threads": ' mm.html
mm.html
1
$ loopwright explain mm.tc --size M=16,N=16
--- stderr
error: 'mm' needs a value for K
note: give values by name; on the command line, for example, --size K=8
--- exit 1
$ loopwright explain @/examples/stripe/matmul.stripe --db none -o flat.html && grep -oE '"stripe": [^}]*}' flat.html
flat.html
"stripe": {"lifted": true, "reason": "lifted", "text": "", "line": 0}
$ loopwright explain mm.tc --size M=256,N=256,K=256 --device emulate --db none -o gpu.html && grep -oE '"(space|gpu|device|kernels|tree|code)": [{["]' gpu.html
gpu.html
"space": {
"gpu": {
"device": {
"kernels": [
"tree": {
"code": "
$ grep -oE '"threads": 256, "registers": [0-9]+, "shared": [0-9]+, "local": 0, "barriers": [0-9]+, "resident": [0-9]+' gpu.html
"threads": 256, "registers": {{[0-9]+}}, "shared": {{[0-9]+}}, "local": 0, "barriers": {{[0-9]+}}, "resident": {{[0-9]+}}
$ loopwright explain mm.tc --size M=16,N=16,K=16 --device cuda:99 -o gpu.html
--- stderr
error: device 'cuda:99': {{this machine has no CUDA driver .*|there is no cuda:99.*}}
--- exit 1
$ loopwright explain mm.tc --size M=16,N=16,K=16 --device emulate --threads 2
--- stderr
loopwright explain: --threads has no effect with --device: it is for the processor
usage: loopwright explain FILE [options]; --help explains them
--- exit 2
