package jit

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/gokiln/kiln/dsl"
)

// Entry is a kernel by name, with the handles of its instances. The command kiln gen
// declares one for each kernel that it writes launchers for; programs that choose
// instances at run time use [Named].
type Entry struct {
	Pkg     string // import path of the kernel's package
	Name    string
	Main    bool // the package is a program: that registers its source as "main", its tests as Pkg
	Generic bool // the kernel has type parameters

	found atomic.Pointer[entryTable]
}

// Instance returns the handle of the instance of a kernel that has type F, such as
// func(dsl.Thread, []float32, float32). It is the same as that of [Of], and what is wrong
// with it is reported in the same ways. It allocates nothing after the first call, and
// F may depend on type parameters, so that generic functions can launch kernels:
//
//	func LaunchScale[T dsl.Float](s *runtime.Stream, g runtime.Grid, x runtime.Slice[T], by T) error {
//		return jit.Instance[func(dsl.Thread, []T, T)](&scale).Launch(s, g, x, by)
//	}
func Instance[F any](e *Entry) *Kernel {
	var typ any = (*F)(nil)
	word := (*iface)(unsafe.Pointer(&typ)).typ
	if k := e.found.Load().find(word); k != nil {
		return k
	}
	return e.add(word, reflect.TypeFor[F]())
}

// add makes the handle of an instance. One that cannot be used is not kept: package-level
// variables may ask for it before a package has registered its source.
func (e *Entry) add(word uintptr, typ reflect.Type) *Kernel {
	pkg := e.Pkg
	if _, tested := dsl.SourceOf(pkg); e.Main && !tested {
		pkg = "main"
	}
	k := kernelOf(pkg, e.Name, typ, e.Generic)
	if k.err != nil {
		k.err = fmt.Errorf("launcher of kiln gen: %w", k.err)
		return k
	}
	for {
		old := e.found.Load()
		if e.found.CompareAndSwap(old, old.with(word, k)) {
			return k
		}
	}
}

// entryTable finds handles by the words of their types. It is never changed once it is
// published.
type entryTable struct {
	slots []entrySlot // open addressing, a power of two, half empty
	n     int
}

type entrySlot struct {
	word uintptr
	k    *Kernel
}

func (t *entryTable) find(word uintptr) *Kernel {
	if t == nil {
		return nil
	}
	mask := len(t.slots) - 1
	for i := slotOf(word) & mask; ; i = (i + 1) & mask {
		switch s := &t.slots[i]; s.word {
		case word:
			return s.k
		case 0:
			return nil
		}
	}
}

// slotOf spreads the addresses of type descriptors, which are multiples of 8 at least.
func slotOf(word uintptr) int { return int(word>>5 ^ word>>12) }

func (t *entryTable) with(word uintptr, k *Kernel) *entryTable {
	all := []entrySlot{{word, k}}
	if t != nil {
		for _, s := range t.slots {
			if s.word != 0 && s.word != word {
				all = append(all, s)
			}
		}
	}
	size := 2
	for size < 2*len(all) {
		size *= 2
	}
	grown := &entryTable{slots: make([]entrySlot, size), n: len(all)}
	for _, s := range all {
		i := slotOf(s.word) & (size - 1)
		for grown.slots[i].word != 0 {
			i = (i + 1) & (size - 1)
		}
		grown.slots[i] = s
	}
	return grown
}
