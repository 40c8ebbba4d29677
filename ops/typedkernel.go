package ops

import (
	"reflect"
	"sync/atomic"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
)

// TypedKernel is a generic kernel whose instances are chosen by a pair of element types, such as that
// of elements and that of the accumulators.
type TypedKernel struct {
	Name   string                                 // of the operation, for errors
	Kernel *jit.Kernel                            // any instance
	Params func(a, b reflect.Type) []reflect.Type // the parameters of an instance, but for the thread

	made [32][32]atomic.Pointer[jit.Kernel]
}

// Of returns the kernel for a pair of types that compute.
func (f *TypedKernel) Of(a, b dtype.DType) (*jit.Kernel, error) {
	if k := f.made[a&31][b&31].Load(); k != nil {
		return k, nil
	}
	for _, d := range []dtype.DType{a, b} {
		if !d.Computes() {
			return nil, Unsupported(f.Name, d, Numbers.String())
		}
	}
	k := f.Kernel.As(KernelType(f.Params(a.Type(), b.Type())...))
	f.made[a][b].Store(k)
	return k, nil
}
