package ptx

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/compiler/ir"
)

// Every operation has a spelling or a reason.
func TestSpellings(t *testing.T) {
	for op := range ir.Ops {
		list, why := Spellings(op)
		assert.True(t, len(list) > 0 != (why != ""), "%s: %d spellings, reason %q", op, len(list), why)
		for _, s := range list {
			assert.NotContains(t, s.Text, "{t}", op)
		}
	}
	list, _ := Spellings(ir.OpAdd)
	assert.Contains(t, list[0].Types, "i32")
	assert.Contains(t, list[0].Text, "add.s32 $d")
	list, _ = Spellings(ir.OpMin)
	assert.True(t, slices.ContainsFunc(list, func(s Spelling) bool { return s.CC == 80 }))
}

func TestOpcodes(t *testing.T) {
	text := ".version 7.8\n\nx(\n\t.param .b64 p\n)\n{\n\t.reg .b32 %r<2>;\n\t// k.go:3\n\tmov.u32 %r0, %tid.x;\n$b1:\n\t@!%p0 bra $b1;\n\tret;\n}\n"
	assert.Equal(t, []string{"mov.u32", "bra", "ret"}, Opcodes(text))
}
