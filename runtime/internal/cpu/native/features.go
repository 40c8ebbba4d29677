package native

import (
	"fmt"
	"sync"
)

// The levels of x86-64 that there is native code for.
const (
	ArchAVX2   = "x86-64-v3"
	ArchAVX512 = "x86-64-v4"
)

// Arch returns the highest level of x86-64 that this processor and this system
// have, if there is native code for it and the program may run it.
func Arch() (arch string, ok bool) {
	f := found()
	return f.arch, f.arch != ""
}

// Has reports why code for a level cannot run here, nil if it can.
func Has(arch string) error {
	f := found()
	switch {
	case f.err != nil:
		return f.err
	case warpOf(f.arch) < warpOf(arch):
		return fmt.Errorf("this processor has not %s", f.lacks[arch])
	}
	return nil
}

// WarpSize is the number of 32-bit lanes of a level's vectors.
func WarpSize(arch string) int { return warpOf(arch) }

func warpOf(arch string) int {
	switch arch {
	case ArchAVX512:
		return 16
	case ArchAVX2:
		return 8
	}
	return 0
}

type findings struct {
	arch  string
	lacks map[string]string // by level: an instruction set that is missing
	err   error             // why no code can run
}

// found looks at the processor once, and tries whether the system lets a program
// make code.
var found = sync.OnceValue(func() (f findings) {
	if !Supported {
		_, f.err = NewCode("", nil)
		return f
	}
	f.lacks = missing()
	for _, level := range []string{ArchAVX512, ArchAVX2} {
		if f.lacks[level] == "" {
			f.arch = level
			break
		}
	}
	if f.arch == "" {
		f.err = fmt.Errorf("this processor has not %s", f.lacks[ArchAVX2])
		return f
	}
	ret, err := NewCode("kiln.probe", []byte{0xc3})
	if err != nil {
		f.arch, f.err = "", err
		return f
	}
	call(ret.Base(), 0)
	ret.Close()
	return f
})
