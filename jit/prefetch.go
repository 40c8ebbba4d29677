package jit

import (
	"errors"
	goruntime "runtime"
	"sync"

	"github.com/gokiln/kiln/runtime"
)

// Wanted is a specialisation of a kernel that a program is about to launch.
type Wanted struct {
	Kernel *Kernel
	Consts []any // the arguments that hold compile-time values and functions, as for [Kernel.Prepare]
}

// Prefetch compiles or loads kernels for a device ahead of their first launches, on all cores,
// and returns when all are there. It is for operations of several kernels and for the start of
// programs, where the first launches would wait for one kernel after the other:
//
//	err := jit.Prefetch(dev, jit.Wanted{Kernel: partial, Consts: []any{tile}}, jit.Wanted{Kernel: join})
//
// A specialisation that is asked for several times, here or by launches of other goroutines,
// is compiled once. The error joins those of all kernels.
func Prefetch(dev *runtime.Device, list ...Wanted) error {
	errs := make([]error, len(list))
	slots := make(chan struct{}, goruntime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i, w := range list {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = w.prepare(dev)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (w *Wanted) prepare(dev *runtime.Device) error {
	if w.Kernel == nil {
		return errors.New("jit.Prefetch: a Wanted without a kernel")
	}
	return w.Kernel.Prepare(dev, w.Consts...)
}

// Loaded reports whether a launch with these arguments would find its code, without waiting for
// a compiler. Only those that are fixed at compile time matter, others may be nil. It allocates
// nothing, for operations that call [Prefetch] before their first launches.
func (k *Kernel) Loaded(dev *runtime.Device, args ...any) bool {
	if k.err != nil {
		return false
	}
	var room [maxConstants]uint64
	values, err := k.constants(args, &room)
	return err == nil && k.ready.Load().find(dev, values) != nil
}
