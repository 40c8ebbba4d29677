package checkpoint

import (
	"reflect"
	"slices"
	"sync"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/quantized/checkpoint/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// Kernels by the way in which files pack codes.
var (
	repack = newPackings(kernels.Repack[kernels.Columns])
	zeros  = newPackings(kernels.Zeros[kernels.Columns])
)

// packings is a kernel over ways to pack codes.
type packings struct {
	kernel *jit.Kernel
	typ    reflect.Type
	made   sync.Map // reflect.Type -> *jit.Kernel
}

func newPackings(prototype any) *packings {
	return &packings{kernel: jit.Of(prototype), typ: reflect.TypeOf(prototype)}
}

func (f *packings) of(p kernels.Packing) *jit.Kernel {
	typ := reflect.TypeOf(p)
	if k, ok := f.made.Load(typ); ok {
		return k.(*jit.Kernel)
	}
	params := make([]reflect.Type, f.typ.NumIn())
	for i := range params {
		if params[i] = f.typ.In(i); params[i] == reflect.TypeFor[kernels.Columns]() {
			params[i] = typ
		}
	}
	k, _ := f.made.LoadOrStore(typ, f.kernel.As(reflect.FuncOf(params, nil, false)))
	return k.(*jit.Kernel)
}

// groups are the tensors of a weight of integers with zero points.
type groups struct {
	method          Method
	packing         kernels.Packing
	n, k, bits      int
	size            int         // inputs of a group
	more            int         // what is added to zero points
	codes, zeros, s *file.Entry // zeros may be nil: the middle of the codes
	rows            bool        // scales are as the rows, and not transposed
	order           []int32     // of columns, nil if they are in the order of the file
}

// likeAWQ reports whether codes have the shape of AWQ: packed along outputs.
func (l *loader) likeAWQ() bool {
	q, _ := l.set.Get(l.prefix + "qweight")
	s, _ := l.set.Get(l.prefix + "scales")
	return q != nil && s != nil && !l.has("g_idx") &&
		len(q.Shape()) == 2 && len(s.Shape()) == 2 && q.Shape()[1] < s.Shape()[1]
}

// awq reads a weight of AWQ, with codes (k, n/8).
func (l *loader) awq() (*Weight, error) {
	g := &groups{method: AWQ, packing: kernels.Interleaved{}, bits: 4}
	if b := l.config.Bits; b != 0 && b != 4 {
		return nil, unsupported("AWQ of %d bits, want 4", b)
	}
	var err error
	if g.codes, err = l.entry("qweight", 2, tensor.I32); err != nil {
		return nil, err
	}
	g.k, g.n = g.codes.Shape()[0], 8*g.codes.Shape()[1]
	if err := l.groupSize(g, nil); err != nil {
		return nil, err
	}
	return l.grouped(g)
}

// gptq reads a weight of GPTQ, with codes (k·bits/32, n).
func (l *loader) gptq() (*Weight, error) {
	g := &groups{method: GPTQ, packing: kernels.Columns{}, bits: l.config.Bits, more: 1}
	if l.config.ZeroPointV2 {
		g.more = 0
	}
	var err error
	if g.codes, err = l.entry("qweight", 2, tensor.I32); err != nil {
		return nil, err
	}
	index, err := l.index("g_idx")
	if err != nil {
		return nil, err
	}
	if err := g.setSize(len(index)); err != nil {
		return nil, err
	}
	if err := l.groupSize(g, index); err != nil {
		return nil, err
	}
	return l.grouped(g)
}

// index reads the groups of inputs, nil if the file does not say them.
func (l *loader) index(name string) ([]int32, error) {
	if !l.has(name) {
		return nil, nil
	}
	e, err := l.entry(name, 1, tensor.I32)
	if err != nil {
		return nil, err
	}
	return file.Values[int32](e)
}

// packed reads a weight of integers of compressed-tensors, with codes (n, k·bits/32).
func (l *loader) packed() (*Weight, error) {
	g := &groups{method: CompressedTensors, packing: kernels.Rows{}, bits: l.config.Bits, rows: true}
	var err error
	if g.codes, err = l.entry("weight_packed", 2, tensor.I32); err != nil {
		return nil, err
	}
	e, err := l.shaped("weight_shape", []int{2}, tensor.I64, tensor.I32)
	if err != nil {
		return nil, err
	}
	shape, err := tensor.Load(l.dev, e).Float64s()
	if err != nil {
		return nil, err
	}
	count := int64(g.codes.Shape()[1]) * 32
	g.n = g.codes.Shape()[0]
	if k := shape[1]; k >= 1 && k <= float64(count) {
		g.k = int(k)
	}
	if g.k > 0 && g.bits == 0 {
		g.bits = int(count / int64(g.k))
	}
	switch {
	case integers[g.bits] == nil || g.bits == 3:
		return nil, unsupported("packed integers of %d bits, want 2, 4 or 8", g.bits)
	case shape[0] != float64(g.n) || count != int64(g.k)*int64(g.bits):
		return nil, malformed("weight_packed has shape %v for weight_shape %v of %d bits",
			g.codes.Shape(), shape, g.bits)
	}
	index, err := l.index("weight_g_idx")
	if err != nil {
		return nil, err
	}
	if index != nil && len(index) != g.k {
		return nil, malformed("weight_g_idx has %d inputs, want %d", len(index), g.k)
	}
	if err := l.groupSize(g, index); err != nil {
		return nil, err
	}
	return l.grouped(g)
}

// setSize finds out the size of the weight, and bits if they are 0, of a g_idx of k inputs, or 0 if
// there is none.
func (g *groups) setSize(k int) error {
	words := int64(g.codes.Shape()[0])
	g.n, g.k = g.codes.Shape()[1], k
	if g.bits == 0 && k > 0 {
		g.bits = int(words * 32 / int64(k))
	}
	switch {
	case g.bits == 0 && k == 0:
		return malformed("without g_idx the bits are not known: Config.Bits says them")
	case integers[g.bits] == nil:
		return unsupported("GPTQ of %d bits, want 2, 3, 4 or 8", g.bits)
	case k == 0:
		g.k = int(words * 32 / int64(g.bits))
	}
	switch {
	case words*32 != int64(g.k)*int64(g.bits):
		return malformed("qweight has %d words for %d inputs of %d bits", words, g.k, g.bits)
	case int64(g.n)*int64(g.bits)%32 != 0:
		return malformed("zero points of %d outputs of %d bits are no whole words", g.n, g.bits)
	}
	return nil
}

// groupSize finds out how many inputs a group has, and which are in it.
func (l *loader) groupSize(g *groups, index []int32) (err error) {
	if g.s, err = l.entry(g.scaleName(), 2, scaleTypes...); err != nil {
		return err
	}
	many := g.s.Shape()[0]
	if g.rows {
		many = g.s.Shape()[1]
	}
	switch g.size = l.config.GroupSize; {
	case g.size < -1:
		return malformed("groups of %d inputs", g.size)
	case g.size == -1 || g.size == 0 && many == 1:
		g.size = g.k
	case g.size == 0 && index != nil:
		for _, i := range index {
			if i == 0 {
				g.size++
			}
		}
	case g.size == 0 && g.k%many == 0:
		g.size = g.k / many
	}
	if g.size == 0 || ceil(g.k, g.size) != many {
		return malformed("scales of %d groups for %d inputs in groups of %d",
			many, g.k, g.size)
	}
	g.order, err = sorted(index, g.size, many)
	return err
}

// sorted returns the columns in the order of their groups, nil if they are in this order. All
// groups but the last have as many columns.
func sorted(index []int32, size, many int) ([]int32, error) {
	begin := make([]int, many+1) // how many columns a group has, one further
	inOrder := true
	for i, g := range index {
		if g < 0 || int(g) >= many {
			return nil, malformed("g_idx of input %d is group %d of %d", i, g, many)
		}
		begin[g+1]++
		inOrder = inOrder && int(g) == i/size
	}
	if index == nil || inOrder {
		return nil, nil
	}
	for g := range many {
		if want := min(size, len(index)-g*size); begin[g+1] != want {
			return nil, unsupported("g_idx has %d inputs in group %d, want %d",
				begin[g+1], g, want)
		}
		begin[g+1] += begin[g]
	}
	order := make([]int32, len(index))
	for i, g := range index {
		order[begin[g]] = int32(i)
		begin[g]++
	}
	return order, nil
}

// integers are the schemes of codes with zero points, by their bits.
var integers = map[int]kernels.Scheme{
	2: kernels.Int2{}, 3: kernels.Int3{}, 4: kernels.Int4{}, 8: kernels.Int8{},
}

// grouped makes a weight of groups: its codes lie row after row from now on, in the order of their
// groups, and scales and zero points as the rows.
func (l *loader) grouped(g *groups) (*Weight, error) {
	w, err := newWeight(g.method, integers[g.bits], g.n, g.k)
	if err != nil {
		return nil, err
	}
	if err := w.setBlocks(1, g.size); err != nil {
		return nil, err
	}
	if err := l.checkGroups(g, w.layout.Across); err != nil {
		return nil, err
	}
	if g.order != nil {
		place := make([]int32, len(g.order))
		for i, col := range g.order {
			place[col] = int32(i)
		}
		w.order, w.place = tensor.From(l.dev, g.order), tensor.From(l.dev, place)
	}
	w.fill(l.dev, g)
	return w, nil
}

// scaleName is the name of the tensor of scales.
func (g *groups) scaleName() string {
	if g.rows {
		return "weight_scale"
	}
	return "scales"
}

// checkGroups checks the shapes of scales and zero points of so many groups.
func (l *loader) checkGroups(g *groups, many int) (err error) {
	scales, zero := []int{many, g.n}, []int{many, int(int64(g.n) * int64(g.bits) / 32)}
	name := "qzeros"
	if g.rows {
		scales, zero = []int{g.n, many}, []int{ceil(g.n*g.bits, 32), many}
		name = "weight_zero_point"
	}
	if _, err = l.shaped(g.scaleName(), scales, scaleTypes...); err != nil {
		return err
	}
	if g.rows && !l.has(name) {
		return nil
	}
	g.zeros, err = l.shaped(name, zero, tensor.I32)
	return err
}

// fill brings the tensors of groups to the device and puts them into the order of rows.
func (w *Weight) fill(d *tensor.Device, g *groups) {
	n, k, many := w.shape[0], w.shape[1], w.layout.Across
	var order any = runtime.Slice[int32]{}
	if w.order != nil {
		order = w.order
	}
	codes := words(d, g.codes)
	w.codes = tensor.LaunchInto(tensor.Empty(d, tensor.U32, codes.Count()), repack.of(g.packing),
		gridOf(d, codes.Count()), codes, order, n, k, dsl.ConstInt(g.bits), g.packing)
	free(codes)
	if w.scales = tensor.Load(d, g.s); !g.rows {
		w.scales = w.scales.T().Contiguous()
	}
	if g.zeros == nil {
		w.bytes = tensor.From(d, slices.Repeat([]uint8{1 << (g.bits - 1)}, n*many))
		return
	}
	zero := words(d, g.zeros)
	w.bytes = tensor.LaunchInto(tensor.Empty(d, tensor.U8, n*many), zeros.of(g.packing),
		gridOf(d, n*many), zero, n, many, g.more, dsl.ConstInt(g.bits), g.packing)
	free(zero)
}

// free gives the memory of a tensor back that is read no more. What went wrong is known by what was
// made of it.
func free(t *tensor.Tensor) {
	if t.Err() == nil {
		_ = t.Free()
	}
}

// words returns the bytes of a tensor of a file, which are whole words, on a device.
func words(d *tensor.Device, e *file.Entry) *tensor.Tensor {
	v, err := e.View()
	if err != nil {
		return tensor.Fail("load", err)
	}
	defer v.Release()
	return tensor.FromBytes(d, tensor.U32, v.Bytes())
}
