package llvm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/ir"
)

const addText = `module "m"
kernel @k(%0: ptr<global,i32>, %1: i64, %2: i32) args(o slice i32 "[]int32", x scalar i32 "int32") {
b0:
  %3 = add %2, %2 : i32
  store %0, %3
  ret
}
`

// TestPanicIsAnError has rows whose instructions the library refuses or cannot print.
func TestPanicIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		form form
		want string
	}{
		"constructor": {func(x *build) value.Value {
			x.NewStore(x.a, x.vals[0])
			return x.a
		}, "LLVM IR of %3 = add %2, %2 : i32: invalid store dst operand type"},
		"no value": {func(*build) value.Value { return nil }, "LLVM IR of store %0, %3: operand add has no value"},
		"print": {func(x *build) value.Value {
			x.append(&llir.InstStore{Src: x.a, Dst: &llir.InstAdd{}})
			return x.a
		}, "LLVM IR of as it is printed: text that fmt could not write"},
	} {
		t.Run(name, func(t *testing.T) {
			tgt := mustTarget(t, "gfx942")
			d := &dialect{isa: wave64, triple: dialectWave64.triple, convention: dialectWave64.convention, spaces: dialectWave64.spaces}
			d.once.Do(func() { d.table = d.makeTable() })
			d.table[key{op: ir.OpAdd, on: ir.KI32}] = []*row{{form: c.form}}
			e := newEmitter(d)
			e.m, e.t = parse(t, addText), tgt
			e.f = e.m.Kernel()
			e.vals, e.blocks = make([]value.Value, e.f.NumValues()), make([]*llir.Block, e.f.NumBlocks())
			text, err := e.emit()
			require.Empty(t, text)
			require.ErrorContains(t, err, "internal compiler error in k: "+c.want)
			var internal *compiler.InternalError
			require.ErrorAs(t, err, &internal)
			require.Contains(t, string(internal.Stack), "TestPanicIsAnError", "the place of the panic")
		})
	}
}

// TestInvalidModules damages valid programs: whatever Emit is given it returns a text or
// an error, and one that is not a fault of its own.
func TestInvalidModules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ir")
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		for n := range 200 {
			m := parse(t, string(src))
			what := damage(r, m)
			text, err := Emit(m, mustTarget(t, arches[n%len(arches)]))
			require.NotContains(t, text, "%!", what)
			var internal *compiler.InternalError
			require.NotErrorAs(t, err, &internal, "%s: %s", file, what)
			if err != nil && strings.Contains(err.Error(), "is not valid") {
				refused++
			}
		}
	}
	assert.Positive(t, refused, "no damage led to a panic")
}

// damage changes a part of a kernel and returns what.
func damage(r *rand.Rand, m *ir.Module) string {
	f := m.Kernel()
	var values []*ir.Value
	for _, b := range f.Blocks {
		values = append(append(values, b.Params...), b.Instrs...)
	}
	i := 1 + r.IntN(len(values)-1)
	b, v, other := f.Blocks[r.IntN(len(f.Blocks))], values[i], values[r.IntN(i)] // no circles, which have no first value
	line, ops := f.Line(v), slices.Collect(ir.Ops)
	switch r.IntN(6) {
	case 0:
		v.Type = append([]*ir.Type{ir.Void, ir.PtrTo(ir.Shared, ir.F32)}, ir.Scalars...)[r.IntN(2+len(ir.Scalars))]
		return fmt.Sprintf("%s gets type %s", line, v.Type)
	case 1:
		v.Op = ops[r.IntN(len(ops))]
		return fmt.Sprintf("%s becomes %s", line, v.Op)
	case 2:
		v.Imm = r.Uint64()
		return fmt.Sprintf("%s gets the number %d", line, v.Imm)
	case 3:
		if len(v.Args) > 0 {
			v.Args[r.IntN(len(v.Args))] = other
		}
		return fmt.Sprintf("%s gets operand %s", line, f.Line(other))
	case 4:
		v.Args = v.Args[:r.IntN(len(v.Args)+1)]
		return line + " loses operands"
	}
	b.Term.Kind = ir.TermKind(r.IntN(5))
	return fmt.Sprintf("block %d ends by %d", b.ID, b.Term.Kind)
}
