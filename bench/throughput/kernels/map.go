package kernels

import "github.com/gokiln/kiln/dsl"

// Op is an operation on single numbers.
type Op[C dsl.Real] interface{ Apply(x C) C }

// Config is what a launcher fixes when it compiles a kernel.
type Config struct {
	Each  dsl.ConstInt // elements in a turn of the loop
	After dsl.ConstInt // what follows the operation: nothing, + y, · y, max(y), limits of 6
}

// Map applies the operation in float32 to elements of any type.
//
//kiln:kernel
func Map[T dsl.Float, O Op[float32]](t dsl.Thread, out, x, y []T, op O, cfg Config) {
	each := int(cfg.Each)
	for i := t.Global() * each; i < len(out); i += t.GlobalSize() * each {
		for j := range cfg.Each {
			k := i + int(j)
			out[k] = dsl.To[T](after(op.Apply(dsl.F32(x[k])), dsl.F32(y[k]), cfg.After))
		}
	}
}

// MapReal applies the operation in the type of the elements.
//
//kiln:kernel
func MapReal[T dsl.Real, O Op[T]](t dsl.Thread, out, x, y []T, op O, cfg Config) {
	each := int(cfg.Each)
	for i := t.Global() * each; i < len(out); i += t.GlobalSize() * each {
		for j := range cfg.Each {
			k := i + int(j)
			out[k] = after(op.Apply(x[k]), y[k], cfg.After)
		}
	}
}

func after[C dsl.Real](v, y C, what dsl.ConstInt) C {
	switch what {
	case 1:
		return v + y
	case 2:
		return v * y
	case 3:
		return max(v, y)
	case 4:
		return min(max(v, 0), 6)
	}
	return v
}
