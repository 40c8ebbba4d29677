package tensor

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// replacement is a method by which operations may replace Forward on one kind of device.
type replacement[F any] struct {
	name string // of the method
	kind string // of the device, in lower case
	of   func(op any) (F, bool)
}

// replaces makes a row of an interface that has just the method: its name is Forward and
// the kind.
func replaces[I, F any](method func(I) F) replacement[F] {
	name := reflect.TypeFor[I]().Method(0).Name
	return replacement[F]{name, strings.ToLower(strings.TrimPrefix(name, "Forward")), func(op any) (f F, ok bool) {
		if o, has := op.(I); has {
			return method(o), true
		}
		return f, false
	}}
}

// on returns what makes the result of an operation on a device.
func on[F any](d *Device, op any, table []replacement[F], forward F) F {
	kind := strings.ToLower(d.rt.Info().Kind)
	for _, r := range table {
		if r.kind == kind {
			if f, ok := r.of(op); ok {
				return f
			}
		}
	}
	return forward
}

// misfit reports a method of an operation that has the name of one that replaces Forward,
// but other parameters or results: it would never be called.
func misfit[F any](op any, table []replacement[F]) error {
	key := misfitKey{reflect.TypeOf(op), reflect.TypeFor[F]()}
	if err, known := misfits.Load(key); known {
		return err.(misfitResult).err
	}
	var err error
	for _, r := range table {
		m := reflect.ValueOf(op).MethodByName(r.name)
		if m.IsValid() && m.Type() != key.forward && err == nil {
			err = fmt.Errorf("%w: method %s of %T is a %v, and would replace Forward if it were a %v", ErrArgument, r.name, op, m.Type(), key.forward)
		}
	}
	misfits.Store(key, misfitResult{err})
	return err
}

var misfits sync.Map // misfitKey -> misfitResult

type (
	misfitKey    struct{ op, forward reflect.Type }
	misfitResult struct{ err error }
)

type (
	make1   = func(x *Tensor) *Tensor
	make2   = func(x, y *Tensor) *Tensor
	make3   = func(x, y, z *Tensor) *Tensor
	makeN   = func(in ...*Tensor) *Tensor
	change1 = func(x *Tensor) error
	change2 = func(x, y *Tensor) error
	change3 = func(x, y, z *Tensor) error
)

var forwards1 = []replacement[make1]{
	replaces(func(o interface{ ForwardCPU(x *Tensor) *Tensor }) make1 { return o.ForwardCPU }),
	replaces(func(o interface{ ForwardCUDA(x *Tensor) *Tensor }) make1 { return o.ForwardCUDA }),
	replaces(func(o interface{ ForwardROCm(x *Tensor) *Tensor }) make1 { return o.ForwardROCm }),
	replaces(func(o interface{ ForwardMetal(x *Tensor) *Tensor }) make1 { return o.ForwardMetal }),
}

var forwards2 = []replacement[make2]{
	replaces(func(o interface{ ForwardCPU(x, y *Tensor) *Tensor }) make2 { return o.ForwardCPU }),
	replaces(func(o interface{ ForwardCUDA(x, y *Tensor) *Tensor }) make2 { return o.ForwardCUDA }),
	replaces(func(o interface{ ForwardROCm(x, y *Tensor) *Tensor }) make2 { return o.ForwardROCm }),
	replaces(func(o interface{ ForwardMetal(x, y *Tensor) *Tensor }) make2 { return o.ForwardMetal }),
}

var forwards3 = []replacement[make3]{
	replaces(func(o interface{ ForwardCPU(x, y, z *Tensor) *Tensor }) make3 { return o.ForwardCPU }),
	replaces(func(o interface{ ForwardCUDA(x, y, z *Tensor) *Tensor }) make3 { return o.ForwardCUDA }),
	replaces(func(o interface{ ForwardROCm(x, y, z *Tensor) *Tensor }) make3 { return o.ForwardROCm }),
	replaces(func(o interface{ ForwardMetal(x, y, z *Tensor) *Tensor }) make3 { return o.ForwardMetal }),
}

var forwardsN = []replacement[makeN]{
	replaces(func(o interface{ ForwardCPU(in ...*Tensor) *Tensor }) makeN { return o.ForwardCPU }),
	replaces(func(o interface{ ForwardCUDA(in ...*Tensor) *Tensor }) makeN { return o.ForwardCUDA }),
	replaces(func(o interface{ ForwardROCm(in ...*Tensor) *Tensor }) makeN { return o.ForwardROCm }),
	replaces(func(o interface{ ForwardMetal(in ...*Tensor) *Tensor }) makeN { return o.ForwardMetal }),
}

var inplace1 = []replacement[change1]{
	replaces(func(o interface{ ForwardCPU(x *Tensor) error }) change1 { return o.ForwardCPU }),
	replaces(func(o interface{ ForwardCUDA(x *Tensor) error }) change1 { return o.ForwardCUDA }),
	replaces(func(o interface{ ForwardROCm(x *Tensor) error }) change1 { return o.ForwardROCm }),
	replaces(func(o interface{ ForwardMetal(x *Tensor) error }) change1 { return o.ForwardMetal }),
}

var inplace2 = []replacement[change2]{
	replaces(func(o interface{ ForwardCPU(x, y *Tensor) error }) change2 { return o.ForwardCPU }),
	replaces(func(o interface{ ForwardCUDA(x, y *Tensor) error }) change2 { return o.ForwardCUDA }),
	replaces(func(o interface{ ForwardROCm(x, y *Tensor) error }) change2 { return o.ForwardROCm }),
	replaces(func(o interface{ ForwardMetal(x, y *Tensor) error }) change2 { return o.ForwardMetal }),
}

var inplace3 = []replacement[change3]{
	replaces(func(o interface{ ForwardCPU(x, y, z *Tensor) error }) change3 { return o.ForwardCPU }),
	replaces(func(o interface{ ForwardCUDA(x, y, z *Tensor) error }) change3 { return o.ForwardCUDA }),
	replaces(func(o interface{ ForwardROCm(x, y, z *Tensor) error }) change3 { return o.ForwardROCm }),
	replaces(func(o interface{ ForwardMetal(x, y, z *Tensor) error }) change3 { return o.ForwardMetal }),
}
