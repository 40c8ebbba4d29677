package ir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// Every testdata/*.ir prints as it was written, and verifies.
func TestRoundTrip(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ir")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			m, err := ir.Parse(string(text))
			require.NoError(t, err)
			require.NoError(t, ir.Verify(m))
			assert.Equal(t, string(text), m.String())
		})
	}
}

// Each line of a case is a fault that the verifier must name; bodies are
// wrapped in a kernel with one slice x and one scalar n.
func TestVerify(t *testing.T) {
	cases := []struct{ name, body, want string }{
		{"ok", "b0:\n ret", ""},
		{"type", "b0:\n %3 = add %1, %2 : i64\n ret", "wants operands of one integer or float type"},
		{"arity", "b0:\n %3 = add %1 : i64\n ret", "has 1 operands, wants 2"},
		{"dominance", "b0:\n %3 = const true : bool\n br %3, b1, b2\nb1:\n %4 = const 1 : i64\n jump b2\nb2:\n %5 = add %4, %4 : i64\n ret", "does not dominate"},
		{"order", "b0:\n %3 = add %4, %4 : i64\n %4 = const 1 : i64\n ret", "does not dominate"},
		{"edge", "b0:\n jump b1\nb1(%3: i64):\n ret", "passes 0 values, wants 1"},
		{"edge type", "b0:\n jump b1(%2)\nb1(%3: i64):\n ret", "value 0 is f32, wants i64"},
		{"entry", "b0:\n jump b0", "jump to the entry"},
		{"entry parameters", "b0(%3: i64):\n ret", "the entry block has parameters"},
		{"no end", "b0:\n %3 = const 1 : i64", "does not end"},
		{"branch", "b0:\n br %1, b1, b1\nb1:\n ret", "br wants one bool"},
		{"ret", "b0:\n ret %1", "ret passes 1 values"},
		{"load", "b0:\n %3 = load %0 : i32\n ret", "loads a scalar of the pointee"},
		{"store", "b0:\n store %0, %1\n ret", "stores a scalar of the pointee"},
		{"copy to global memory", "b0:\n copy.async %0, %0\n ret", "copies a number to shared memory from global memory"},
		{"copy of a number", "b0:\n copy.async %0, %2\n ret", "copies a number to shared memory from global memory"},
		{"copy of a vector", "b0:\n copy.vec %0, %0, %1, 8\n ret", "copies a number to shared memory from global memory"},
		{"barrier in global memory", "b0:\n mbarrier.arrive %0\n ret", "wants a pointer to 64 bits of shared memory"},
		{"groups", "b0:\n copy.wait.groups %2\n ret", "wants an i64"},
		{"shift", "b0:\n %3 = shl %1, %1 : i64\n ret", "unsigned count"},
		{"axis", "b0:\n %3 = thread 3 : i64\n ret", "axis 0..2"},
		{"shared", "b0:\n %3 = shared 0 : ptr<shared,f32>\n ret", "pointer types do not fit"},
		{"table", "b0:\n %3 = table 0 : ptr<constant,[2]f32>\n ret", "pointer types do not fit"},
		{"store to a table", "b0:\n %3 = table 0 : ptr<constant,[2]i32>\n %4 = index %3, %1 : ptr<constant,i32>\n %5 = const 1 : i32\n store %4, %5\n ret", "writes to constant memory"},
		{"atomic on a table", "b0:\n %3 = table 0 : ptr<constant,[2]i32>\n %4 = index %3, %1 : ptr<constant,i32>\n %5 = const 1 : i32\n %6 = atomic.add %4, %5 : i32\n ret", "wants a pointer to global or shared memory"},
		{"space", "b0:\n %3 = offset %0, %1 : ptr<local,f32>\n ret", "space"},
		{"atomic", "b0:\n %3 = atomic.min %0, %2 : f32\n ret", "not an atomic type"},
		{"convert", "b0:\n %3 = convert %0 : i64\n ret", "wants numbers"},
		{"bitcast", "b0:\n %3 = bitcast %1 : f32\n ret", "wants types of one size"},
		{"select", "b0:\n %3 = select %1, %2, %2 : f32\n ret", "wants a bool"},
		{"compare", "b0:\n %3 = lt %1, %2 : bool\n ret", "one ordered type"},
		{"half", "b0:\n %3 = const 0x0 : f16\n %4 = eq %3, %3 : bool\n ret", "one type"},
		{"float", "b0:\n %3 = sqrt %1 : i64\n ret", "one float type"},
		{"rem", "b0:\n %3 = rem %2, %2 : f32\n ret", "one integer type"},
		{"vote", "b0:\n %3 = ballot %1 : u64\n ret", "wants a bool"},
		{"shuffle", "b0:\n %3 = eq %1, %1 : bool\n %4 = shfl.up %3, %1 : bool\n ret", "wants a number"},
		{"bounds", "b0:\n bounds %1, %2\n ret", "two i64"},
		{"nonnil", "b0:\n nonnil %1\n ret", "wants a bool"},
		{"divisor", "b0:\n %3 = const 1 : i32\n divisor %1, %3\n ret", "one integer type"},
		{"count", "b0:\n %3 = const 1 : u32\n count %3\n ret", "wants a signed integer"},
		{"text", "b0:\n %3 = eq %1, %1 : bool\n assert %3, 0\n ret", "number of a text"},
		{"print", "b0:\n print %1, 0\n ret", "number of a text"},
		{"bytes", "b0:\n %3 = load.bytes %0 : i32\n ret", "through a pointer to smaller integers"},
		{"whole", "b0:\n %3 = lt %1, %1, 3 : bool\n %4 = whole %3, 1 : bool\n ret", ""},
		{"whole of what", "b0:\n %3 = const true : bool\n %4 = whole %3 : bool\n ret", "wants comparisons"},
		{"whole of nothing", "b0:\n %3 = whole : bool\n ret", "wants bools"},
		{"far", "b0:\n %3 = lt %2, %2, 1 : bool\n ret", "only 64-bit integers"},
		{"warp", "b0:\n %3 = lane : i32\n ret", "i64 result"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := ir.Parse("module \"k\"\nkernel @k(%0: ptr<global,f32>, %1: i64, %2: f32) args(x slice f32 \"[]float32\", a scalar f32 \"float32\") {\n" + c.body + "\n}\n")
			require.NoError(t, err)
			err = ir.Verify(m)
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestVerifyCalls(t *testing.T) {
	const f = "func @f(%0: i64) (i64) {\nb0:\n ret %0\n}\n"
	cases := []struct{ name, text, want string }{
		{"ok", f + "func @g(%0: i64) {\nb0:\n %1 = call @f, %0 : i64\n ret\n}", ""},
		{"result", f + "func @g(%0: i64) {\nb0:\n %1 = call @f, %0 : f32\n ret\n}", "does not match the signature"},
		{"args", f + "func @g(%0: f32) {\nb0:\n %1 = call @f, %0 : i64\n ret\n}", "argument 0 is f32"},
		{"twice", f + f, "two functions"},
		{"kernel", "kernel @k() args() {\nb0:\n ret\n}\nfunc @g() {\nb0:\n call @k\n ret\n}", "call of a kernel"},
		{"proj", "func @h() (i64,f32) {\nb0:\n %0 = const 1 : i64\n %1 = const 1.5 : f32\n ret %0, %1\n}\nfunc @g() {\nb0:\n %0 = call @h : (i64,f32)\n %1 = proj %0, 1 : i64\n ret\n}", "wants a result of a call"},
		{"kernel args", "kernel @k(%0: i64) args(x scalar f32 \"float32\") {\nb0:\n ret\n}", "does not match its parameters"},
		{"kernel results", "kernel @k() args() (i64) {\nb0:\n %0 = const 1 : i64\n ret %0\n}", "a kernel has no results"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := ir.Parse(c.text)
			require.NoError(t, err)
			if err = ir.Verify(m); c.want == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestParseErrors(t *testing.T) {
	cases := []struct{ text, want string }{
		{"bogus", `ir:1: unexpected "bogus"`},
		{"func f() {", "expected @name"},
		{"func @f() {\nb0:\n ret", "not closed"},
		{"func @f() {\n ret\n}", "expected a block label"},
		{"func @f(%0: i64) {\nb0:\n jump b1(%0\nb1(%1: i64):\n ret\n}", "expected )"},
		{"func @f() {\nb0:\n ret\n ret\n}", "after the end of a block"},
		{"func @f() {\nb0:\n %0 = frob : i64\n ret\n}", `unknown operation "frob"`},
		{"func @f() {\nb0:\n %0 = const 300 : u8\n ret\n}", "does not fit u8"},
		{"func @f() {\nb0:\n %0 = const x : i64\n ret\n}", "bad i64 constant"},
		{"func @f() {\nb0:\n %0 = const 1 : i64\n %0 = const 1 : i64\n ret\n}", "defined twice"},
		{"func @f() {\nb0:\n jump b7\n}", "b7 is not defined"},
		{"func @f() {\nb0:\n ret %9\n}", "ir:3: %9 is not defined"},
		{"func @f() {\nb0:\n call @g\n ret\n}", "undefined @g"},
		{"func @f(%0: i99) {\nb0:\n ret\n}", `unknown type name "i99"`},
		{"func @f(%0: ptr<moon,f32>) {\nb0:\n ret\n}", "unknown address space"},
		{"func @f() {\nb0:\n ret extra\n}", "unexpected"},
		{"func @f() {\nb0:\nb0:\n ret\n}", "defined twice"},
		{"shared 1 \"s\" f32", "numbered in order"},
		{"shared 0 \"s\" [0]f32 dynamic", "number"},
		{"table 1 \"t\" [1]i32 1", "numbered in order"},
		{"table 0 \"t\" [3]i32 1 2", "too few numbers"},
		{"table 0 \"t\" [3]i32 1 2 3 4", "1 numbers too many"},
		{"table 0 \"t\" [3]i8 1 2 128", "does not fit"},
		{"table 0 \"t\" [3]ptr<global,i8> 1 2 3", "wants an array of scalars"},
		{"table 0 \"t\" [2][0]i8", "wants an array of scalars"},
		{"table 0 \"t\" i8 1", "wants an array of scalars"},
		{"table 0 \"t\" [1000000000]i8 1", "at most 65536 are possible"},
		{"pos !0 \"f\" 1 1", "bad position"},
		{"module x", "quoted string"},
		{"kernel @k() args(x odd f32 \"f\") {", "unknown argument kind"},
		{"func @f() {\nb0:\n store\n %1 = store : i64\n}", "must go together"},
	}
	for _, c := range cases {
		_, err := ir.Parse(c.text)
		assert.ErrorContains(t, err, c.want, c.text)
	}
}

func TestTypes(t *testing.T) {
	s := ir.StructOf(ir.U8, ir.F64, ir.I16)
	assert.Equal(t, 24, s.Size())
	assert.Equal(t, []int{0, 8, 16}, []int{s.Offset(0), s.Offset(1), s.Offset(2)})
	assert.Same(t, s, ir.StructOf(ir.U8, ir.F64, ir.I16))
	none := ir.ArrayOf(0, ir.I8)
	for size, of := range map[int][]*ir.Type{0: {none}, 2: {ir.I8, none}, 1: {none, ir.I8}, 4: {ir.I16, none}} {
		assert.Equal(t, size, ir.StructOf(of...).Size(), "as Go lays out %v", of)
	}
	for _, text := range []string{"i8", "ptr<shared,[4]{f32,[2]u8}>", "(i64,f32)", "{}", "[0]f16", "void"} {
		typ, err := ir.ParseType(text)
		require.NoError(t, err)
		assert.Equal(t, text, typ.String())
	}
	for _, text := range []string{"", "i", "[", "[-1]f32", "[2147483648]f64", "ptr<global,f32", "{i8", strings.Repeat("[1]", 100) + "f32", "f32 f32"} {
		_, err := ir.ParseType(text)
		assert.Error(t, err, text)
	}
}

func TestConstants(t *testing.T) {
	for _, c := range []struct{ typ, text string }{
		{"i8", "-128"}, {"u64", "18446744073709551615"}, {"i64", "-9223372036854775808"}, {"bool", "true"},
		{"f32", "0.1"}, {"f32", "-0.0"}, {"f32", "1e-45"}, {"f32", "0x7fc00000"}, {"f32", "0x7f800000"}, {"f64", "1e+300"}, {"f16", "0x3c00"},
	} {
		typ, err := ir.ParseType(c.typ)
		require.NoError(t, err)
		bits, err := ir.ParseConst(typ, c.text)
		require.NoError(t, err)
		assert.Equal(t, c.text, ir.ConstText(typ, bits))
	}
	assert.Equal(t, ^uint64(0), ir.Normalize(ir.I8, 0xff))
	assert.Equal(t, uint64(0xff), ir.Normalize(ir.U8, ^uint64(0)))
}

// Every operation has a complete row.
func TestOpTable(t *testing.T) {
	seen := map[string]bool{}
	for op := range ir.Ops {
		info := op.Info()
		assert.NotEmpty(t, info.Name, "operation %d", op)
		assert.False(t, seen[info.Name], info.Name)
		seen[info.Name] = true
		if info.Commute {
			assert.Equal(t, 2, info.Args, info.Name)
		}
	}
	assert.Equal(t, "invalid", ir.OpInvalid.String())
	assert.True(t, ir.OpAdd.Pure())
	assert.True(t, ir.OpBarrier.Has(ir.Convergent))
}

func TestCFG(t *testing.T) {
	// b1 is a loop over the loop b2; b5 leaves both from the inside.
	m, err := ir.Parse(`func @f(%0: bool) {
b0:
  jump b1
b1:
  br %0, b2, b6
b2:
  br %0, b3, b4
b3:
  br %0, b5, b2
b4:
  jump b1
b5:
  jump b6
b6:
  ret
}`)
	require.NoError(t, err)
	f := m.Funcs[0]
	dom, pdom := ir.Dominators(f), ir.PostDominators(f)
	b := f.Blocks
	assert.Same(t, b[1], dom.Idom(b[6]))
	assert.Nil(t, dom.Idom(b[0]))
	assert.True(t, dom.Dominates(b[1], b[5]))
	assert.False(t, dom.Dominates(b[5], b[6]))
	assert.Same(t, b[6], pdom.Idom(b[1]))
	assert.Nil(t, pdom.Idom(b[6]))
	assert.True(t, pdom.Dominates(b[6], b[2]))
}

func TestEndlessLoop(t *testing.T) {
	m, err := ir.Parse("func @f() {\nb0:\n jump b1\nb1:\n jump b1\nb2:\n ret\n}")
	require.NoError(t, err)
	f := m.Funcs[0]
	assert.False(t, ir.PostDominators(f).Reachable(f.Blocks[1]))
	ir.RemoveUnreachable(f)
	assert.Len(t, f.Blocks, 2)
	assert.NoError(t, ir.Verify(m))
}

func TestText(t *testing.T) {
	text, err := os.ReadFile("testdata/scale.ir")
	require.NoError(t, err)
	m, err := ir.Parse(string(text))
	require.NoError(t, err)
	before := m.Text()
	require.Equal(t, ir.Pos{File: "k/scale.go", Line: 12, Col: 3}, m.PosOf(1))
	assert.Contains(t, m.String(), " !1")
	assert.NotContains(t, m.Kernel().String(), " !", "positions, of which a function alone has no table")
	for i := range m.Pos {
		m.Pos[i].Line += 7 // as a comment above would
	}
	assert.Equal(t, before, m.Text())
	assert.NotContains(t, before, "scale.go")
	assert.Equal(t, ir.Pos{}, m.PosOf(0))
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.ir")
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ir.Parse(text)
		if err != nil || ir.Verify(m) != nil {
			return
		}
		again, err := ir.Parse(m.String())
		require.NoError(t, err)
		assert.Equal(t, m.String(), again.String())
		for _, fn := range m.Funcs {
			ir.Dominators(fn)
			ir.PostDominators(fn)
		}
	})
}

// What no operation is, and a pointer that is computed from itself, are mistakes to report.
func TestMalformed(t *testing.T) {
	const text = "module \"k\"\nkernel @k(%0: ptr<global,f32>, %1: i64, %2: f32) args(x slice f32 \"[]float32\", a scalar f32 \"float32\") {\n" +
		"b0:\n %3 = offset %0, %1 : ptr<global,f32>\n store %3, %2\n ret\n}\n"
	m, err := ir.Parse(text)
	require.NoError(t, err)
	v := m.Kernel().Blocks[0].Instrs[0]
	v.Args[0] = v
	assert.Equal(t, []bool{true, false, false}, ir.WrittenParams(m.Kernel()))
	require.ErrorContains(t, ir.Verify(m), "does not dominate")
	v.Op = 255
	require.ErrorContains(t, ir.Verify(m), "is not an instruction")
}
