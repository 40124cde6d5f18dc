# Files that are not there, are not text, or are not named by language.
--- mv.txt
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
--- empty.tc
$ loopwright check nowhere.tc
--- stderr
error: cannot read 'nowhere.tc': No such file or directory
--- exit 1
$ loopwright check mv.txt
--- stderr
error: cannot tell the language of 'mv.txt' by its name
note: known extensions are .tc, .teml, .lwp, .lwg and .stripe; or name the language, on the command line by --lang
--- exit 1
$ loopwright check mv.txt --lang tc
mv(f32(M, K) A, f32(K) x) -> (f32(M) C)
$ loopwright check . --lang tc
--- stderr
error: cannot read '.': is a directory
--- exit 1
$ loopwright run empty.tc
--- stderr
error: 'empty.tc' has no function
--- exit 1
$ loopwright check nowhere.tc --json
{"command": "check", "file": "nowhere.tc", "error": "cannot read 'nowhere.tc': No such file or directory", "diagnostics": [{"severity": "error", "text": "cannot read 'nowhere.tc': No such file or directory", "notes": []}], "ok": false}
--- exit 1
$ cat mv.txt | loopwright check /dev/stdin --lang tc
mv(f32(M, K) A, f32(K) x) -> (f32(M) C)
$ loopwright run mv.txt --lang tc --size M=2,K=2 --schedule .
--- stderr
error: cannot read '.': Is a directory
--- exit 1
$ loopwright --version > /dev/full
--- stderr
loopwright: cannot write: No space left on device
--- exit 1
$ loopwright help run > /dev/full
--- stderr
loopwright: cannot write: No space left on device
--- exit 1
$ printf '\357\273\277def f(float(N) A) -> (B) { B(i) = A(i) + C(i) }\n' > mark.tc; loopwright check mark.tc
--- stderr
mark.tc:1:42: error: no tensor or function named 'C'
  def f(float(N) A) -> (B) { B(i) = A(i) + C(i) }
                                           ^~~~
note: declare it as a parameter, or define it by an earlier statement
--- exit 1
$ printf '\357\273\277C: m k\n' > mark.lws; loopwright run mv.txt --lang tc --size M=2,K=2 --schedule mark.lws | tail -1
           [-0.5184682, 0.17501417]
$ loopwright show mv.txt --lang tc --size M=64,K=64 --stage asm > /dev/full
--- stderr
loopwright: cannot write: No space left on device
--- exit 1
$ loopwright explain mv.txt --lang tc --size M=4,K=4 -o /dev/full; test -c /dev/full && echo a device
a device
--- stderr
error: cannot write '/dev/full': No space left on device
$ echo old > c.npy; (ulimit -f 1; trap '' XFSZ; loopwright run mv.txt --lang tc --size M=4096,K=2 --out C=c.npy); cat c.npy; ls | grep part
old
--- stderr
error: cannot write 'c.npy': File too large
--- exit 1
$ loopwright run mv.txt --lang tc --size M=2 K=2
--- stderr
loopwright run: 'K=2' is no file; sizes are joined by commas: --size M=2,K=2
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.txt --lang tc --size 'M=2, K=2' | grep sizes
  sizes    M = 2, K = 2
$ env -u HOME -u XDG_DATA_HOME loopwright report
--- stderr
error: neither XDG_DATA_HOME nor HOME is set: --from names a history
--- exit 1
