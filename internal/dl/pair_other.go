//go:build kiln_nogpu || !linux || !amd64

package dl

import "runtime"

func (p *Pair) call() int32 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if r := int32(Call(p.First, []uintptr{p.Arg})); r != 0 {
		return r
	}
	return int32(Call(p.Fn, p.Args[:]))
}
