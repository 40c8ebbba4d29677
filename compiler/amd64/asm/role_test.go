package asm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNames checks that operations and their mnemonics go together, and that every
// machine operation has rows.
func TestNames(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "op.go", nil, 0)
	require.NoError(t, err)
	var consts []string
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			for _, name := range v.Names {
				consts = append(consts, name.Name)
			}
		}
		return true
	})
	require.Len(t, consts, int(numOps)+1)
	other := map[string]string{"SETCC": "set", "CMOVCC": "cmov", "JCC": "j", "IMUL1": "imul", "MOVZXB": "movzx", "MOVZXW": "movzx", "MOVSXB": "movsx", "MOVSXW": "movsx", "VPDPBUSDVEX": "{vex} vpdpbusd"}
	for op := range numOps {
		want := strings.ToLower(strings.Replace(consts[op], "LOCK_", "LOCK ", 1))
		if s := other[consts[op]]; s != "" {
			want = s
		}
		if got := op.String(); got != want && !(slices.Contains(consts, strings.ToUpper(got)) && (got+"k" == want || got+"x" == want || got+"r" == want)) {
			t.Errorf("%s is written %q, want %q", consts[op], got, want)
		}
		if op > BARRIER && len(ops[op].forms) == 0 {
			t.Errorf("%s has no row", consts[op])
		}
	}
}

// TestOneRole checks what Op.Role promises: rows of an operation agree on what is
// done with a register.
func TestOneRole(t *testing.T) {
	for op := range numOps {
		for i := range 4 {
			var role Role
			for _, f := range ops[op].forms {
				p := f.args[i]
				if p&(gpr|vec|mask) == 0 {
					continue
				}
				if role != 0 && p.role() != role && op != IMUL {
					t.Errorf("operand %d of %s has the roles %d and %d", i, op, role, p.role())
				}
				role = p.role()
			}
			if role != 0 && op != IMUL {
				require.Equal(t, role, op.Role(i), op.String())
			}
		}
	}
}

func TestRoles(t *testing.T) {
	v := func(n int) Reg { return Virtual(Vec, n) }
	g := func(n int) Reg { return Virtual(GPR, n) }
	m := func(n int) Reg { return Virtual(Mask, n) }
	for _, c := range []struct {
		in         Inst
		uses, defs []Reg
	}{
		{mk(ADD, 64, R(g(0)), R(g(1))), []Reg{g(0), g(1)}, []Reg{g(0)}},
		{mk(XOR, 64, R(g(0)), R(g(0))), nil, []Reg{g(0)}},
		{mk(CMP, 64, R(g(0)), M(g(1), 8)), []Reg{g(0), g(1)}, nil},
		{mk(MOV, 64, MX(g(0), g(1), 8, 0), R(g(2))), []Reg{g(0), g(1), g(2)}, nil},
		{mk(IMUL, 64, R(g(0)), R(g(1))), []Reg{g(0), g(1)}, []Reg{g(0)}},
		{mk(IMUL, 64, R(g(0)), R(g(1)), I(3)), []Reg{g(1)}, []Reg{g(0)}},
		{mk(SETCC, 8, R(g(0))), []Reg{g(0)}, []Reg{g(0)}},
		{mk(LOCK_XADD, 64, M(g(0), 0), R(g(1))), []Reg{g(0), g(1)}, []Reg{g(1)}},
		{mk(VADDPS, 512, R(v(0)), R(v(1)), R(v(2))), []Reg{v(1), v(2)}, []Reg{v(0)}},
		{mk(VADDPS, 512, R(v(0)), R(v(1)), R(v(2))).with(m(0), false, false), []Reg{v(0), v(1), v(2), m(0)}, []Reg{v(0)}},
		{mk(VADDPS, 512, R(v(0)), R(v(1)), R(v(2))).with(m(0), true, false), []Reg{v(1), v(2), m(0)}, []Reg{v(0)}},
		{mk(VPBLENDMD, 512, R(v(0)), R(v(1)), R(v(2))).with(m(0), false, false), []Reg{v(1), v(2), m(0)}, []Reg{v(0)}},
		{mk(VPXORD, 512, R(v(0)), R(v(0)), R(v(0))), nil, []Reg{v(0)}},
		{mk(VPTERNLOGD, 512, R(v(0)), R(v(0)), R(v(0)), I(255)), nil, []Reg{v(0)}},
		{mk(VPTERNLOGD, 512, R(v(0)), R(v(0)), R(v(0)), I(254)), []Reg{v(0), v(0), v(0)}, []Reg{v(0)}},
		{mk(VMOVUPS, 512, M(g(0), 0), R(v(0))).with(m(0), false, false), []Reg{g(0), v(0), m(0)}, nil},
		{mk(VFMADD231PS, 512, R(v(0)), R(v(1)), R(v(2))), []Reg{v(0), v(1), v(2)}, []Reg{v(0)}},
		{mk(VPTERNLOGD, 512, R(v(0)), R(v(1)), R(v(2)), I(1)), []Reg{v(0), v(1), v(2)}, []Reg{v(0)}},
		{mk(VCMPPSK, 512, R(m(0)), R(v(1)), R(v(2)), I(1)).with(m(1), false, false), []Reg{v(1), v(2), m(1)}, []Reg{m(0)}},
		{mk(VPGATHERDDK, 512, R(v(0)), MX(g(0), v(1), 4, 0)).with(m(0), false, false), []Reg{v(0), g(0), v(1), m(0)}, []Reg{v(0), m(0)}},
		{mk(VPGATHERDD, 256, R(v(0)), MX(g(0), v(1), 4, 0), R(v(2))), []Reg{v(0), g(0), v(1), v(2)}, []Reg{v(0), v(2)}},
		{mk(VPSCATTERDD, 512, MX(g(0), v(1), 4, 0), R(v(0))).with(m(0), false, false), []Reg{g(0), v(1), v(0), m(0)}, []Reg{m(0)}},
		{mk(VPSLLD, 256, R(v(0)), R(v(1)), I(3)), []Reg{v(1)}, []Reg{v(0)}},
		{mk(KMOVW, 16, R(m(0)), R(g(0))), []Reg{g(0)}, []Reg{m(0)}},
		{mk(COPY, 64, R(g(0)), R(g(1))), []Reg{g(1)}, []Reg{g(0)}},
		{mk(UNDEF, 64, R(v(0))), nil, []Reg{v(0)}},
	} {
		require.Equal(t, c.uses, c.in.AppendUses(nil), "what %s reads", c.in.String())
		require.Equal(t, c.defs, c.in.AppendDefs(nil), "what %s writes", c.in.String())
	}
	store := mk(VMOVUPS, 512, M(RAX, 0), R(x0))
	load := mk(VMOVUPS, 512, R(x0), M(RAX, 0))
	require.Equal(t, Write, store.RoleOf(0))
	require.Equal(t, Read, load.RoleOf(1))
}

// TestCanBeMem replaces operands by memory where that is said to be possible, and
// checks that there is code for it, of VEX too where registers have that.
func TestCanBeMem(t *testing.T) {
	replaced := 0
	for _, f := range allRows() {
		for _, in := range samples(f) {
			for i := range in.Args {
				if !f.op.CanBeMem(i) || in.hasMemory() || in.Args[i].Kind != RegArg || in.RoleOf(i) != Read {
					continue
				}
				_, vexed, err := in.form()
				require.NoError(t, err)
				x := in
				x.Args[i] = M(R14, 128)
				g, again, err := x.form()
				require.NoError(t, err, "%s from %s", x.String(), in.String())
				require.True(t, again || !vexed, "%s has no VEX form", x.String())
				p := g.args[i]
				if m, n := p.memSize().bits(int(in.Width)), max(p.regSize().bits(int(in.Width)), 64); m > n {
					t.Errorf("%s reads %d bits of a register of %d", x.String(), m, n)
				}
				replaced++
			}
		}
	}
	if replaced < 1000 {
		t.Errorf("only %d operands were replaced", replaced)
	}
	for _, c := range []struct {
		op   Op
		i    int
		want bool
	}{
		{VADDPS, 2, true}, {VADDPS, 1, false}, {ADD, 1, true}, {ADD, 0, false}, {CMP, 0, true}, {CMP, 1, true}, {TEST, 0, true}, {IMUL, 1, true},
		{VPSLLD, 1, false}, {VPSRAQ, 1, true}, {SHLX, 1, true}, {VPMOVZXBD, 1, true}, {COPY, 1, false},
		{VMOVAPS, 1, false}, {KMOVW, 1, false}, {VPERMD, 2, true}, {VFMADD231PS, 0, false}, {VFMADD231PS, 2, true}, {VPTEST, 1, true}, {VCMPPSK, 2, true},
	} {
		require.Equal(t, c.want, c.op.CanBeMem(c.i), "operand %d of %s", c.i, c.op)
	}
}

func TestCond(t *testing.T) {
	require.Equal(t, CondGE, CondL.Not())
	require.Equal(t, CondE, CondNE.Not())
	require.Equal(t, "be", CondBE.String())
}
