package conformance

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
	"github.com/gokiln/kiln/tests/conformance/language"
	"github.com/gokiln/kiln/tests/conformance/language/vec3"
)

// Case is one kernel instance with one set of inputs.
type Case struct {
	Name          string
	Kernel        any      // the function
	Grid, Threads dsl.Dim3 // blocks, threads of a block
	Args          []any    // after the Thread: slices of Go values, and scalars
	Near          []Near   // how far each of the first Args, slices of floats, may be off; none: to the bit
	Shared        int      // bytes of shared memory of a block at most, if some devices have less

	place int // among [Cases]
}

// Near is a tolerance: a fraction of the value wanted, and an absolute one. Both
// zero ask for the same bits.
type Near struct{ Rel, Abs float64 }

// RunAll runs every case on dev. Cases of what the device is [Without], such as 64-bit floats
// on Metal, are skipped with the compiler's reason.
func RunAll(t *testing.T, dev *runtime.Device) {
	run(t, dev, Cases(dev.WarpSize()), Cases(dev.WarpSize()))
}

// RunSome runs what RunAll does, but of the cases a third of such as have every kernel and every
// type between them, and fewer as checked code: for devices whose compilers take long, and those
// that differ little from others.
func RunSome(t *testing.T, dev *runtime.Device) {
	cases := Some(Cases(dev.WarpSize()))
	run(t, dev, one(cases, 0, 3), one(cases, 0, 12))
}

// RunSweep runs all where KILN_SWEEP=all asks for it, and some elsewhere. With KILN_SWEEP=each that
// is the i-th of n shares of the cases, and half of it as checked code: n devices that differ
// little have all of them between them.
func RunSweep(t *testing.T, dev *runtime.Device, i, n int) {
	switch {
	case tooltest.Whole():
		RunAll(t, dev)
	case tooltest.Sweeps():
		cases := Cases(dev.WarpSize())
		run(t, dev, one(cases, i, n), one(cases, i, 2*n))
	default:
		RunSome(t, dev)
	}
}

// RunShare runs what n devices of one kind have between them, the i-th of them its share of the cases
// and such as have every kernel and every type, and half as many as checked code. Where KILN_SWEEP asks
// for sweeps it runs all.
func RunShare(t *testing.T, dev *runtime.Device, i, n int) {
	if tooltest.Sweeps() {
		RunAll(t, dev)
		return
	}
	cases := Cases(dev.WarpSize())
	taken := map[int]bool{}
	for _, c := range slices.Concat(one(cases, i, n), Some(cases)) {
		taken[c.place] = true
	}
	run(t, dev, slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !taken[c.place] }), one(cases, i, 2*n))
}

// one is the i-th of n shares of cases, by their names.
func one(cases []Case, i, n int) []Case {
	return slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return tooltest.Hash(c.Name)%uint64(n) != uint64(i) })
}

// Some chooses cases that have every kernel and every type, whose names the cases' names have.
func Some(cases []Case) []Case {
	return tooltest.Some(cases, func(c Case) string { return c.Name }, func(c Case) []string {
		return slices.DeleteFunc(strings.Split(c.Name, "/"), func(part string) bool { return part == "" || part[0] < 'A' })
	})
}

// run runs cases and, as checked code, cases, and all parts of the suite that have their own.
func run(t *testing.T, dev *runtime.Device, cases, checked []Case) {
	CheckFeatures(t, targetOf(t, dev))
	runCases(t, "Cases", dev, cases, false)
	runCases(t, "Checked", dev, checked, true)
	for _, part := range []func(*testing.T, *runtime.Device){RunShared, RunDynamicShared, RunTrees, RunOrder, RunLog, RunFaults, RunGrid, RunCollectives, RunHandover} {
		part(t, dev)
		nothingLeft(t, dev)
	}
}

// nothingLeft fails the test where its last part has left a failure that Sync has not reported yet: the
// next part would take it for its own.
func nothingLeft(t *testing.T, dev *runtime.Device) {
	t.Helper()
	require.NoError(t, dev.Sync(), "the last part of the suite has left this failure to the next")
}

// runCases runs every case as a subtest of the group, several at a time: what takes time
// is the compilers of devices.
func runCases(t *testing.T, group string, dev *runtime.Device, cases []Case, checked bool) {
	t.Run(group, func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				if has := dev.Info().SharedPerBlock; c.Shared > has {
					t.Skipf("%s has %d bytes of shared memory for a block, and the case needs %d", dev.Name(), has, c.Shared)
				}
				want, err := asGo(c, dev.WarpSize())
				require.NoError(t, err)
				judge(t, dev, c.checkOn(dev.Name(), want, func() ([]any, error) { return onDevice(dev, c, checked) }))
			})
		}
	})
}

// Check runs one case on dev and reports the first difference to plain Go.
func Check(dev *runtime.Device, c Case) error { return check(dev, c, false) }

func check(dev *runtime.Device, c Case, checked bool) error {
	return CheckBy(c, dev.WarpSize(), dev.Name(), func() ([]any, error) { return onDevice(dev, c, checked) })
}

// CheckBy runs one case by a function, which returns the arguments as the kernel leaves
// them, and reports the first difference to plain Go with warps of that size. On is where
// the function runs it.
func CheckBy(c Case, warpSize int, on string, run func() ([]any, error)) error {
	want, err := onHost(c, warpSize)
	if err != nil {
		return fmt.Errorf("as plain Go: %w", err)
	}
	return c.checkOn(on, want, run)
}

// checkOn compares what the case does by a function with what is wanted.
func (c Case) checkOn(on string, want []any, run func() ([]any, error)) error {
	got, err := run()
	if err != nil {
		return fmt.Errorf("on %s: %w", on, err)
	}
	return c.Judge(want, got)
}

// results are what those of [Cases] give as plain Go, by their places and the size of warps: all
// devices are compared with them, and nothing changes them.
var results sync.Map

// asGo is what the case, one of [Cases], gives as plain Go.
func asGo(c Case, warpSize int) ([]any, error) {
	key := [2]int{warpSize, c.place}
	if done, ok := results.Load(key); ok {
		return done.([]any), nil
	}
	want, err := onHost(c, warpSize)
	if err == nil {
		results.Store(key, want)
	}
	return want, err
}

// onHost runs the case as plain Go on copies of the slices, with warps of that size.
func onHost(c Case, warpSize int) ([]any, error) {
	fn := reflect.ValueOf(c.Kernel)
	out := make([]any, len(c.Args))
	in := make([]reflect.Value, len(c.Args)+1)
	for i, a := range c.Args {
		v := copied(reflect.ValueOf(a))
		in[i+1], out[i] = v, v.Interface()
	}
	err := dsltest.Run(c.Grid, c.Threads, func(t dsl.Thread) {
		call := append([]reflect.Value{reflect.ValueOf(t)}, in[1:]...)
		fn.Call(call)
	}, dsltest.WarpSize(warpSize))
	return out, err
}

// onDevice runs the case on dev, on a stream of its own: several cases run at a time.
func onDevice(dev *runtime.Device, c Case, checked bool) ([]any, error) {
	s, err := dev.NewStream()
	if err != nil {
		return nil, err
	}
	return onStream(s, c, checked)
}

// onStream runs the case on a stream.
func onStream(s *runtime.Stream, c Case, checked bool) ([]any, error) {
	dev := s.Device()
	args := make([]any, len(c.Args))
	down := make([]func() (any, error), len(c.Args))
	for i, a := range c.Args {
		args[i] = a
		down[i] = func() (any, error) { return a, nil }
		var err error
		switch {
		case reflect.TypeOf(a).Kind() == reflect.Slice:
			args[i], down[i], err = upload(dev, a)
		case holdsSlices(reflect.TypeOf(a)):
			args[i], err = uploadFields(dev, reflect.ValueOf(a))
		}
		if err != nil {
			return nil, err
		}
	}
	grid := runtime.Grid{Blocks: runtime.Dim3(c.Grid), Threads: runtime.Dim3(c.Threads)}
	k := jit.Of(c.Kernel)
	if checked {
		k = k.Checked()
	}
	if err := k.Launch(s, grid, args...); err != nil {
		return nil, err
	}
	if err := s.Sync(); err != nil {
		return nil, err
	}
	out := make([]any, len(args))
	for i := range args {
		var err error
		if out[i], err = down[i](); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// copied returns a copy of v, an argument of a kernel, and of the slices in it.
func copied(v reflect.Value) reflect.Value {
	switch {
	case v.Kind() == reflect.Slice:
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		return c
	case holdsSlices(v.Type()):
		c := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			c.Field(i).Set(copied(v.Field(i)))
		}
		return c
	}
	return v
}

func holdsSlices(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i).Type; f.Kind() == reflect.Slice || holdsSlices(f) {
			return true
		}
	}
	return false
}

// uploadFields returns what a launch passes for v, a struct that has slices.
func uploadFields(dev *runtime.Device, v reflect.Value) (any, error) {
	values := make([]any, v.NumField())
	fields := make([]reflect.StructField, v.NumField())
	for i := range values {
		f := v.Field(i)
		values[i] = f.Interface()
		var err error
		switch {
		case f.Kind() == reflect.Slice:
			values[i], _, err = upload(dev, values[i])
		case holdsSlices(f.Type()):
			values[i], err = uploadFields(dev, f)
		}
		if err != nil {
			return nil, err
		}
		fields[i] = reflect.StructField{Name: v.Type().Field(i).Name, Type: reflect.TypeOf(values[i])}
	}
	out := reflect.New(reflect.StructOf(fields)).Elem()
	for i, x := range values {
		out.Field(i).Set(reflect.ValueOf(x))
	}
	return out.Interface(), nil
}

// upload puts a slice on the device. A row for each element type that a kernel
// can have.
func upload(dev *runtime.Device, a any) (any, func() (any, error), error) {
	switch s := a.(type) {
	case []int8:
		return place(dev, s)
	case []uint8:
		return place(dev, s)
	case []int16:
		return place(dev, s)
	case []uint16:
		return place(dev, s)
	case []int32:
		return place(dev, s)
	case []uint32:
		return place(dev, s)
	case []int64:
		return place(dev, s)
	case []uint64:
		return place(dev, s)
	case []int:
		return place(dev, s)
	case []uint:
		return place(dev, s)
	case []dsl.F16:
		return place(dev, s)
	case []dsl.BF16:
		return place(dev, s)
	case []dsl.F8E4M3:
		return place(dev, s)
	case []dsl.TF32:
		return place(dev, s)
	case []dsl.F8E5M2:
		return place(dev, s)
	case []float32:
		return place(dev, s)
	case []float64:
		return place(dev, s)
	case []bool:
		return place(dev, s)
	case [][3]float32:
		return place(dev, s)
	case []kernels.Numbers:
		return place(dev, s)
	case []language.P:
		return place(dev, s)
	case []vec3.V3[float64]:
		return place(dev, s)
	case []language.Flags:
		return place(dev, s)
	case []language.Metres:
		return place(dev, s)
	case []language.Count:
		return place(dev, s)
	case []language.Temp:
		return place(dev, s)
	}
	return nil, nil, fmt.Errorf("conformance cannot upload %T", a)
}

const (
	guard  = 16   // elements before and after a slice
	poison = 0xAB // their bytes
)

// place copies s into the middle of a buffer with poisoned edges. The returned
// function reads it back and checks the edges.
func place[T any](dev *runtime.Device, s []T) (any, func() (any, error), error) {
	whole := make([]T, len(s)+2*guard)
	raw := asBytes(whole)
	for i := range raw {
		raw[i] = poison
	}
	copy(whole[guard:], s)
	buf, err := runtime.From(dev, whole)
	if err != nil {
		return nil, nil, err
	}
	read := func() (any, error) {
		back, err := buf.Host()
		if err != nil {
			return nil, err
		}
		defer buf.Free()
		for _, edge := range [][]byte{asBytes(back[:guard]), asBytes(back[guard+len(s):])} {
			if bytes.Count(edge, []byte{poison}) != len(edge) {
				return nil, fmt.Errorf("the kernel wrote outside a slice of %T", s)
			}
		}
		return back[guard : guard+len(s)], nil
	}
	return buf.Slice(guard, guard+len(s)), read, nil
}

func asBytes[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// Compare compares two slices bit by bit, except that any NaN equals any other:
// Go does not define which one an operation returns.
func Compare(want, got any) error {
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if w.Kind() != reflect.Slice {
		return nil
	}
	if w.Len() != g.Len() {
		return fmt.Errorf("length %d, want %d", g.Len(), w.Len())
	}
	wrong, first := 0, -1
	for i := range w.Len() {
		if !same(w.Index(i), g.Index(i)) {
			if wrong++; first < 0 {
				first = i
			}
		}
	}
	if wrong == 0 {
		return nil
	}
	bits := ""
	if k := w.Index(first).Kind(); k != reflect.Struct && k != reflect.Array {
		bits = fmt.Sprintf(" (bits %#x, want %#x)", bitsOf(g.Index(first)), bitsOf(w.Index(first)))
	}
	return fmt.Errorf("%d of %d elements differ, first [%d]: got %v, want %v%s", wrong, w.Len(), first, g.Index(first), w.Index(first), bits)
}

// compareNear compares two slices within a tolerance. NaN and infinities must be
// where they are wanted.
func compareNear[T dsl.Real](n Near, want, got []T) error {
	if len(want) != len(got) {
		return fmt.Errorf("length %d, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if w == g || w != w && g != g {
			continue
		}
		if diff, limit := math.Abs(float64(g)-float64(w)), n.Abs+n.Rel*math.Abs(float64(w)); !(diff <= limit) {
			return fmt.Errorf("element %d is %v, want %v, which is off by %.3g where %.3g is allowed", i, g, w, diff, limit)
		}
	}
	return nil
}

func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Array:
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	if bitsOf(a) == bitsOf(b) {
		return true
	}
	switch x := a.Interface().(type) {
	case dsl.F16:
		return x.IsNaN() && b.Interface().(dsl.F16).IsNaN()
	case dsl.BF16:
		return x&0x7fff > 0x7f80 && b.Interface().(dsl.BF16)&0x7fff > 0x7f80
	}
	return a.CanFloat() && math.IsNaN(a.Float()) && math.IsNaN(b.Float())
}

func bitsOf(v reflect.Value) uint64 {
	switch {
	case v.CanInt():
		return uint64(v.Int())
	case v.Kind() == reflect.Bool:
		return uint64(map[bool]int{true: 1}[v.Bool()])
	case v.CanUint():
		return v.Uint()
	case v.Kind() == reflect.Float32:
		return uint64(math.Float32bits(float32(v.Float())))
	}
	return math.Float64bits(v.Float())
}
