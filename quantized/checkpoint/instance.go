package checkpoint

import (
	"reflect"
	"sync"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/quantized/checkpoint/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// What prototypes of kernels are for: instances have other types in their place.
type (
	scheme = kernels.Int4
	scaled = dsl.F16  // the type of scales
	result = dsl.BF16 // the type of results
)

// family is a kernel over schemes, types of scales and types of results.
type family struct {
	kernel *jit.Kernel
	typ    reflect.Type
	made   sync.Map // instance -> *jit.Kernel
}

type instance struct {
	scheme      reflect.Type
	scales, out dtype.DType
}

func newFamily(prototype any) *family {
	return &family{kernel: jit.Of(prototype), typ: reflect.TypeOf(prototype)}
}

// of returns the kernel for a scheme, a type of scales, and one of results.
func (f *family) of(s kernels.Scheme, scales, out dtype.DType) *jit.Kernel {
	i := instance{reflect.TypeOf(s), scales, out}
	if k, ok := f.made.Load(i); ok {
		return k.(*jit.Kernel)
	}
	params := make([]reflect.Type, f.typ.NumIn())
	for n := range params {
		switch p := f.typ.In(n); p {
		case reflect.TypeFor[scheme]():
			params[n] = i.scheme
		case reflect.TypeFor[[]scaled]():
			params[n] = reflect.SliceOf(scales.Type())
		case reflect.TypeFor[[]result]():
			params[n] = reflect.SliceOf(out.Type())
		default:
			params[n] = p
		}
	}
	k, _ := f.made.LoadOrStore(i, f.kernel.As(reflect.FuncOf(params, nil, false)))
	return k.(*jit.Kernel)
}

// gridOf is a grid that has a thread for each of n pieces of work, or as many as keep the device
// busy.
func gridOf(d *tensor.Device, n int) runtime.Grid {
	info := ops.DeviceInfo(d.Runtime())
	threads := min(256, info.MaxThreads)
	if ops.TraitsOf(&info).WarpBlocks {
		threads = info.WarpSize
	}
	blocks := min((n+threads-1)/threads, 4*ops.ResidentBlocks(&info, threads))
	return runtime.Blocks(max(blocks, 1), threads)
}
