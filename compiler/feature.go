package compiler

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Feature is something that not every target has.
type Feature string

// The features.
const (
	Float64        Feature = "float64"         // 64-bit floats
	Float16        Feature = "float16"         // 16-bit floats, converted
	BFloat16       Feature = "bfloat16"        // bfloat16, converted
	WarpOperations Feature = "warp operations" // shuffles and votes
	Atomics32      Feature = "atomics32"       // on integers of 32 bits
	Atomics64      Feature = "atomics64"       // on integers of 64 bits
	AtomicsFloat   Feature = "atomics float32" // sums of 32-bit floats
	AtomicsHalf    Feature = "atomics halves"  // sums of 16-bit floats of both kinds
	AtomicsOrdered Feature = "atomics ordered" // loads that acquire, stores that release
	Fences         Feature = "fences"          // order of memory without a barrier
	DeviceLog      Feature = "device log"      // Printf, Assert and checked builds
)

// ErrUnsupported is what errors are that say that a target lacks something.
var ErrUnsupported = target.ErrUnsupported

// uses has the type that a feature's kernel has a slice of, and what it does with
// element %e of it.
var uses = map[Feature]struct {
	elem *ir.Type
	code string
}{
	Float64:        {ir.F64, "  %x = load %e : f64\n  %y = add %x, %x : f64\n  store %e, %y\n"},
	Float16:        {ir.F16, "  %x = load %e : f16\n  %y = convert %x : f32\n  %z = convert %y : f16\n  store %e, %z\n"},
	BFloat16:       {ir.BF16, "  %x = load %e : bf16\n  %y = convert %x : f32\n  %z = convert %y : bf16\n  store %e, %z\n"},
	WarpOperations: {ir.U32, "  %x = load %e : u32\n  %y = shfl.xor %x, %i : u32\n  %b = eq %x, %y : bool\n  %v = ballot %b : u64\n  store %e, %y\n"},
	Atomics32:      {ir.U32, "  %x = load %e : u32\n  %y = atomic.add %e, %x : u32\n"},
	Atomics64:      {ir.U64, "  %x = load %e : u64\n  %y = atomic.add %e, %x : u64\n"},
	AtomicsFloat:   {ir.F32, "  %x = load %e : f32\n  %y = atomic.add %e, %x : f32\n"},
	AtomicsHalf:    {ir.BF16, "  %x = load %e : bf16\n  %y = atomic.add %e, %x : bf16\n"},
	AtomicsOrdered: {ir.U32, "  %x = atomic.load %e, 1 : u32\n  atomic.store %e, %x, 2\n"},
	Fences:         {ir.U32, "  fence\n"},
	DeviceLog:      {ir.U32, "  %x = load %e : u32\n  %y = atomic.add %e, %x : u32\n"}, // its records are reserved so
}

// Features returns all features in order.
func Features() []Feature { return slices.Sorted(maps.Keys(uses)) }

// Supports returns nil if t has a feature, and else an error that says why it has it
// not and is an [ErrUnsupported]. The answer is the emitter's own: what it says of a
// kernel that uses the feature is what it says here.
func Supports(t target.Target, f Feature) error {
	use, ok := uses[f]
	if !ok {
		return fmt.Errorf("feature %q: unknown; known are %q", f, Features())
	}
	b, err := backendOf(t.Kind)
	if err != nil {
		return err
	}
	m, err := ir.Parse(fmt.Sprintf("module \"feature\"\n\nkernel @feature(%%p: ptr<global,%[1]s>, %%n: i64) args(p slice %[1]s \"[]T\") {\nb0:\n  %%i = const 0 : i64\n  %%e = offset %%p, %%i : ptr<global,%[1]s>\n%[2]s  ret\n}\n", use.elem, use.code))
	if err != nil {
		return fmt.Errorf("feature %s: %w", f, err)
	}
	if _, err = b.emit(m, t, Options{}); err == nil || forInterp(err) {
		return nil
	}
	if lack := (*target.Unsupported)(nil); errors.As(err, &lack) {
		return &target.Unsupported{What: string(f), Target: t, Why: lack.Why}
	}
	return fmt.Errorf("feature %s: %w", f, err)
}
