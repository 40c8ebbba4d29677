package ops

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// Launch runs a kernel of a program. Among the arguments, those of type *[View] are passed
// as the slices that begin at the first element and reach to the last one in memory, those of type
// []View, of one element type, as [SlicesArg] says, and those of type [layout.Layout] as
// [kernels.Strided]; the others as they are. It returns which arguments are slices that the kernel
// writes to.
func Launch(s *runtime.Stream, k *jit.Kernel, g runtime.Grid, args ...any) (written []bool, err error) {
	list := make([]any, len(args))
	headers := make([]runtime.SliceHeader, 0, viewsIn(args)) // of which list has addresses
	for i, arg := range args {
		switch a := arg.(type) {
		case *View:
			if err := taken(i, a.DType); err != nil {
				return nil, err
			}
			headers = append(headers, a.Header())
			list[i] = SliceArg(a.DType, &headers[len(headers)-1])
		case []View:
			from := len(headers)
			for j := range a {
				if err := taken(i, a[j].DType); err != nil {
					return nil, err
				}
				headers = append(headers, a[j].Header())
			}
			if len(a) == 0 {
				return nil, fmt.Errorf("argument %d has no tensors", i+1)
			}
			list[i] = SlicesArg(a[0].DType, headers[from:])
		case layout.Layout:
			st, err := strided(a)
			if err != nil {
				return nil, fmt.Errorf("argument %d: %w", i+1, err)
			}
			list[i] = st
		default:
			list[i] = arg
		}
	}
	if err := k.Launch(s, g, list...); err != nil {
		return nil, err
	}
	return k.Writes(s.Device(), list...)
}

// viewsIn is how many views there are among the arguments.
func viewsIn(args []any) (n int) {
	for _, arg := range args {
		switch a := arg.(type) {
		case *View:
			n++
		case []View:
			n += len(a)
		}
	}
	return n
}

// taken reports that no kernel takes argument i.
func taken(i int, d dtype.DType) error {
	if !d.Valid() || sliceOf[d] == nil {
		return fmt.Errorf("%w: argument %d is of %s, which no kernel takes", ErrDType, i+1, d)
	}
	return nil
}

// strided is a layout as kernels take it.
func strided(l layout.Layout) (kernels.Strided, error) {
	if l.Rank() > kernels.MaxRank {
		return kernels.Strided{}, fmt.Errorf("%w: %d dimensions of %v, kernels go over %d", layout.ErrRank, l.Rank(), l.Shape(), kernels.MaxRank)
	}
	s := kernels.Strided{Rank: dsl.ConstInt(l.Rank()), Count: l.Count()}
	copy(s.Size[:], l.Shape())
	copy(s.Step[:], l.Strides())
	return s, nil
}
