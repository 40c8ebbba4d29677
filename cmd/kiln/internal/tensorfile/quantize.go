package tensorfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/quantized/imatrix"
	"github.com/gokiln/kiln/quantized/recipe"
	"github.com/gokiln/kiln/tensor/file"
)

// QuantizeOptions say how a model is quantized.
type QuantizeOptions struct {
	Recipe     recipe.Recipe
	Imatrix    *imatrix.Matrix   // importance of columns, or nil
	ImatrixOf  string            // the name of its file
	Requantize bool              // tensors of other quantized types are dequantized and quantized again
	Wrote      func(bytes int64) // called now and then with the bytes that are made or written
}

// Step is what becomes of a tensor.
type Step struct {
	From, To *file.Entry

	making *making // nil of tensors that are not quantized
}

// making says how many bytes of the blocks of a tensor are made, while they are.
type making struct{ report func(bytes int64) }

// Plan returns what becomes of each tensor, in the order of the file that [Quantize] writes, which
// is that of llama.cpp: by layers, and by names. Nothing but headers is read.
func Plan(m *Model, o QuantizeOptions) ([]Step, error) {
	entries := slices.Collect(m.All())
	slices.SortStableFunc(entries, func(a, b *file.Entry) int {
		return cmp.Or(cmp.Compare(recipe.LayerOf(a.Name), recipe.LayerOf(b.Name)), cmp.Compare(a.Name,
			b.Name))
	})
	if err := o.checkImatrix(m); err != nil {
		return nil, err
	}
	tensors := make([]recipe.Tensor, len(entries))
	for i, e := range entries {
		tensors[i] = recipe.Tensor{Name: e.Name, Shape: e.Shape()}
	}
	types, changed := o.Recipe.Plan(m.shape(o.Imatrix != nil), tensors)
	steps := make([]Step, len(entries))
	for i, e := range entries {
		steps[i] = Step{From: e, To: e}
		if !changed[i] || !e.DType.IsFloat() && !e.Encoding().Quantized() {
			continue
		}
		to, making, err := o.become(e, types[i])
		if err != nil {
			return nil, err
		}
		steps[i].To, steps[i].making = to, making
	}
	return steps, nil
}

// shape is what recipes ask of a model, as far as its metadata has it.
func (m *Model) shape(important bool) recipe.Model {
	arch, _ := gguf.Get[string](m.Meta, gguf.KeyArchitecture)
	number := func(key string) int {
		key = arch + "." + key
		if n, err := gguf.Get[uint32](m.Meta, key); err == nil {
			return int(n)
		}
		if list, err := gguf.GetList[uint32](m.Meta, key); err == nil && len(list) > 0 {
			return int(list[0]) // one number for each layer
		}
		return 0
	}
	s := recipe.Model{Architecture: arch, Imatrix: important, Layers: number("block_count"),
		Heads: number("attention.head_count"), KVHeads: number("attention.head_count_kv"),
		Experts: number("expert_count")}
	if s.KVHeads == 0 {
		s.KVHeads = s.Heads
	}
	if s.Layers == 0 {
		for e := range m.All() {
			s.Layers = max(s.Layers, recipe.LayerOf(e.Name)+1)
		}
	}
	return s
}

// become is a tensor in a type.
func (o *QuantizeOptions) become(e *file.Entry, t format.Type) (*file.Entry, *making, error) {
	if have, err := gguf.TypeOf(e); err == nil && have == t {
		return e, nil, nil
	}
	fault := func(text string, args ...any) (*file.Entry, *making, error) {
		return nil, nil, fmt.Errorf("tensor %q: %w: %s", e.Name, file.ErrUnsupported, fmt.Sprintf(text, args...))
	}
	if e.Encoding().Quantized() && !o.Requantize {
		return fault("it has type %s, and is to have %s: errors add up, -requantize does it",
			e.Stored, t)
	}
	enc, err := gguf.Encoding(t)
	if err != nil {
		return nil, nil, err
	}
	if !enc.Quantized() {
		to, err := convertFinite(e, enc.DType)
		return to, nil, err
	}
	weights, err := o.weights(e)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case t.Quantizes(weights != nil):
	case o.Imatrix != nil:
		return fault("%s is made with the importance of columns, and %s has none of this tensor", t,
			o.ImatrixOf)
	default:
		return fault("%s is made with the importance of columns, and there is none: -imatrix has it",
			t)
	}
	m := &making{}
	to, err := file.FromBlocks(e.Name, enc, e.Shape(),
		func() ([]byte, error) { return quantize(e, t, weights, m) })
	return to, m, err
}

// checkImatrix reports an importance matrix that has nothing of a model.
func (o *QuantizeOptions) checkImatrix(m *Model) error {
	if o.Imatrix == nil {
		return nil
	}
	for e := range m.All() {
		if _, ok := o.Imatrix.Get(e.Name); ok {
			return nil
		}
	}
	var of string
	if list := o.Imatrix.Entries(); len(list) > 0 {
		of = fmt.Sprintf(", but of others, such as %q", list[0].Name)
	}
	return fmt.Errorf("%s has the importance of no tensor of %s%s; is it of another model?",
		o.ImatrixOf, m.Path, of)
}

// weights is the importance of the columns of each matrix of a tensor, nil if it is not known.
func (o *QuantizeOptions) weights(e *file.Entry) ([]float32, error) {
	if o.Imatrix == nil {
		return nil, nil
	}
	entry, ok := o.Imatrix.Get(e.Name)
	if !ok {
		return nil, nil
	}
	w := entry.Weights()
	cols, matrices := columnsOf(e)
	if len(w) != cols && len(w) != cols*matrices {
		return nil, fmt.Errorf("tensor %q: importance of %d columns, and it has %d matrices of %d",
			e.Name, len(w), matrices, cols)
	}
	return w, nil
}

// columnsOf is the last dimension of a tensor, and how many matrices it is.
func columnsOf(e *file.Entry) (cols, matrices int) {
	s := e.Shape()
	cols, matrices = s[len(s)-1], 1
	for _, n := range s[:max(len(s)-2, 0)] {
		matrices *= n
	}
	return cols, matrices
}

// elementsAtOnce is how many elements are quantized, on all cores, before it is told how far that
// is; tests lower it.
var elementsAtOnce = 1 << 22

// quantize returns a tensor as blocks, whose values are finite.
func quantize(e *file.Entry, t format.Type, weights []float32, m *making) ([]byte, error) {
	x, err := numbersOf(e)
	if err != nil {
		return nil, err
	}
	n, err := t.RowBytes(int64(len(x)))
	if err != nil || n == 0 {
		return nil, err
	}
	dst := make([]byte, n)
	cols, matrices := columnsOf(e)
	rows := len(x) / cols
	size := len(dst) / rows // of a row
	each := rows            // rows of one importance
	if len(weights) > cols {
		each = rows / matrices
	}
	for at := 0; at < rows; {
		var w []float32
		if weights != nil {
			w = weights[at/each*cols:][:cols]
		}
		n := min(max(1, elementsAtOnce/cols), each-at%each)
		if err := format.Quantize(dst[at*size:][:n*size], x[at*cols:][:n*cols], cols, t, w); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", e.Name, err)
		}
		if at += n; m.report != nil {
			m.report(int64(at * size))
		}
	}
	if t == format.IQ3_S {
		restoreGroups(dst, x)
	}
	return dst, checkBlocks(e, x, dst, cols, t)
}

// numbersOf is the elements of a tensor as float32, which are finite.
func numbersOf(e *file.Entry) ([]float32, error) {
	x := make([]float32, 0, e.Layout.Count())
	err := Each(e, func(values []float64) error {
		for _, v := range values {
			f := float32(v)
			if !finite(f) {
				cols, _ := columnsOf(e)
				return fmt.Errorf("tensor %q: row %d, column %d is %v, and quantized types have no such value",
					e.Name, len(x)/cols, len(x)%cols, v)
			}
			x = append(x, f)
		}
		return nil
	})
	return x, err
}

func finite(f float32) bool { return f-f == 0 }

// checkBlocks reports blocks whose values are not finite, as those of elements are that are too
// large for a scale of half precision. Rows are shared among all cores; the error is that of the
// first row.
func checkBlocks(e *file.Entry, x []float32, blocks []byte, cols int, t format.Type) error {
	rows := len(x) / cols
	parts := min(rows, runtime.GOMAXPROCS(0))
	errs := make([]error, parts)
	var wait sync.WaitGroup
	for p := range parts {
		first, end := p*rows/parts, (p+1)*rows/parts
		wait.Go(func() { errs[p] = checkRows(e, x, blocks, cols, t, first, end) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRows is checkBlocks of some rows.
func checkRows(e *file.Entry, x []float32, blocks []byte, cols int, t format.Type,
	first, end int) error {
	y, size := make([]float32, cols), len(blocks)/(len(x)/cols)
	for row := first; row < end; row++ {
		if err := format.Dequantize(y, blocks[row*size:][:size], t); err != nil {
			return err
		}
		i := slices.IndexFunc(y, func(f float32) bool { return !finite(f) })
		if i >= 0 {
			col, most := largest(x[row*cols:][:cols], i, t)
			return fmt.Errorf("tensor %q: row %d, column %d is %v, too much for the scales of %s, "+
				"which makes %v of column %d", e.Name, row, col, most, t, y[i], i)
		}
	}
	return nil
}

// largest is the element of the largest magnitude in the block of element i of a row.
func largest(row []float32, i int, t format.Type) (at int, x float32) {
	n := 1
	if info, err := t.Info(); err == nil {
		n = info.Elems
	}
	at = i / n * n
	for j := at; j < min(at+n, len(row)); j++ {
		if math.Abs(float64(row[j])) > math.Abs(float64(row[at])) {
			at = j
		}
	}
	return at, row[at]
}

// restoreGroups gives the groups of blocks of IQ3_S their places. The quantizer has left out
// indices and signs of groups of zeros, as the reference does, see [format.BlockIQ3_S], so that
// those behind them would be read as the groups in front. Groups of zeros get the smallest values
// that there are.
func restoreGroups(blocks []byte, x []float32) {
	const elems, size, groups, group, indices, signs = 256, 110, 8, 32, 2, 74
	for b := range len(x) / elems {
		out, at := blocks[b*size:][:size], 0
		old := slices.Clone(out)
		for g := range groups {
			i, s := out[indices+8*g:][:8], out[signs+4*g:][:4]
			if allZero(x[b*elems+g*group:][:group]) {
				clear(i)
				clear(s)
				continue
			}
			copy(i, old[indices+8*at:])
			copy(s, old[signs+4*at:])
			at++
		}
	}
}

func allZero(x []float32) bool {
	return !slices.ContainsFunc(x, func(f float32) bool { return f != 0 })
}

// quantizedMeta is the metadata of a model that was quantized.
func quantizedMeta(m *Model, o QuantizeOptions) *gguf.Metadata {
	meta := metaOf(m).Clone()
	set := func(key string, v gguf.Value) { // behind the others, as llama.cpp does
		meta.Delete(key)
		meta.Set(key, v)
	}
	set(keyQuantization, gguf.Of(uint32(2)))
	set(keyFileType, gguf.Of(o.Recipe.FileType))
	if i := o.Imatrix; i != nil {
		set(prefixImatrix+"file", gguf.Of(filepath.Base(o.ImatrixOf)))
		if n := len(i.Datasets); n > 0 {
			set(prefixImatrix+"dataset", gguf.Of(i.Datasets[n-1]))
		}
		set(prefixImatrix+"entries_count", gguf.Of(uint32(i.Len())))
		set(prefixImatrix+"chunks_count", gguf.Of(uint32(i.Chunks)))
	}
	return meta
}

// Quantize writes a plan as a GGUF file, which replaces one of the name when it is whole. One
// tensor at a time is in memory.
func Quantize(path string, m *Model, steps []Step, o QuantizeOptions) error {
	return file.Create(path, func(w io.Writer) error {
		if o.Wrote != nil {
			w = o.counted(w, steps)
		}
		return gguf.Write(w, quantizedMeta(m, o), results(steps)...)
	})
}

// counted is a writer that tells Wrote what was written, and also what is made of a tensor before
// that is written. The number never falls.
func (o *QuantizeOptions) counted(w io.Writer, steps []Step) io.Writer {
	most := int64(0)
	report := func(n int64) {
		if n > most {
			most = n
			o.Wrote(n)
		}
	}
	c := &counter{w: w, report: report}
	for _, s := range steps {
		if s.making != nil {
			s.making.report = func(made int64) { report(c.n + made) }
		}
	}
	return c
}

// Check reports what [Quantize] would refuse before it reads a tensor: types, names and metadata
// that a GGUF file cannot have.
func Check(m *Model, steps []Step, o QuantizeOptions) error {
	err := gguf.Write(stopped{}, quantizedMeta(m, o), results(steps)...)
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// errStopped ends writing in front of the first byte.
var errStopped = errors.New("only checked")

type stopped struct{}

func (stopped) Write([]byte) (int, error) { return 0, errStopped }

// results is what tensors become.
func results(steps []Step) (list []*file.Entry) {
	for _, s := range steps {
		list = append(list, s.To)
	}
	return list
}
