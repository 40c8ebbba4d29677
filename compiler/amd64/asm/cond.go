package asm

// Cond is a condition of flags, as the low bits of an opcode have it.
type Cond uint8

// The conditions: above and below are of unsigned numbers, less and greater of
// signed ones.
const (
	CondO Cond = iota
	CondNO
	CondB
	CondAE
	CondE
	CondNE
	CondBE
	CondA
	CondS
	CondNS
	CondP
	CondNP
	CondL
	CondGE
	CondLE
	CondG
)

var condNames = [16]string{"o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"}

// String returns the condition as it ends a mnemonic: "ne".
func (c Cond) String() string { return condNames[c&15] }

// Not returns the opposite condition.
func (c Cond) Not() Cond { return c ^ 1 }
