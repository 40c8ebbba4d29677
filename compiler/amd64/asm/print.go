package asm

import (
	"fmt"
	"strings"
)

// names has the spelling of the operations of the table; the others are below.
var names [numOps]string

var generalNames = [...]string{
	COPY: "copy", UNDEF: "undef", BARRIER: "barrier",
	MOV: "mov", MOVZXB: "movzx", MOVZXW: "movzx", MOVSXB: "movsx", MOVSXW: "movsx", MOVSXD: "movsxd", LEA: "lea",
	ADD: "add", OR: "or", ADC: "adc", SBB: "sbb", AND: "and", SUB: "sub", XOR: "xor", CMP: "cmp", TEST: "test",
	NEG: "neg", NOT: "not", INC: "inc", DEC: "dec", IMUL: "imul", IMUL1: "imul", MUL: "mul", DIV: "div", IDIV: "idiv",
	CQO: "cqo", CDQ: "cdq", SHL: "shl", SHR: "shr", SAR: "sar", ROL: "rol", ROR: "ror",
	POPCNT: "popcnt", LZCNT: "lzcnt", TZCNT: "tzcnt", BSWAP: "bswap", BT: "bt", SETCC: "set", CMOVCC: "cmov", JCC: "j",
	JMP: "jmp", CALL: "call", RET: "ret", POP: "pop", PUSH: "push", XCHG: "xchg",
	LOCK_XADD: "lock xadd", LOCK_CMPXCHG: "lock cmpxchg", MFENCE: "mfence", PAUSE: "pause", UD2: "ud2", NOP: "nop",
}

// shortNames are of operations whose names here have a letter more than in the
// manuals.
var shortNames = map[Op]string{
	VCMPPSK: "vcmpps", VCMPPDK: "vcmppd", VPBROADCASTDR: "vpbroadcastd", VPBROADCASTQR: "vpbroadcastq",
	VPGATHERDDK: "vpgatherdd", VPGATHERDQK: "vpgatherdq", VPGATHERQDK: "vpgatherqd", VPGATHERQQK: "vpgatherqq",
	VPSLLDX: "vpslld", VPSRLDX: "vpsrld", VPSRADX: "vpsrad", VPSLLQX: "vpsllq", VPSRLQX: "vpsrlq", VPSRAQX: "vpsraq",
}

func (op Op) String() string {
	if int(op) < len(generalNames) && generalNames[op] != "" {
		return generalNames[op]
	}
	if s := shortNames[op]; s != "" {
		return s
	}
	if op < numOps && names[op] != "" {
		return names[op]
	}
	return fmt.Sprintf("op%d", op)
}

var gprNames = [4][16]string{
	{"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"},
	{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"},
	{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d"},
	{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"},
}

// Name returns the name of a register seen with a width in bits; of a virtual one %,
// its class and number.
func (r Reg) Name(width int) string {
	c := r.Class()
	if r.IsVirtual() {
		return fmt.Sprintf("%%%c%d", "?gvm"[c], r.Num())
	}
	n := r.Num()
	switch c {
	case Mask:
		return fmt.Sprintf("k%d", n)
	case Vec:
		return fmt.Sprintf("%s%d", map[int]string{128: "xmm", 256: "ymm", 512: "zmm"}[max(width, 128)], n)
	case GPR:
		for i, w := range []int{8, 16, 32, 64} {
			if w == width {
				return gprNames[i][n&15]
			}
		}
		return gprNames[3][n&15]
	}
	return "?"
}

// String returns the instruction in Intel's syntax; jumps name blocks as .N and
// constants as pool+N.
func (in *Inst) String() string {
	var b strings.Builder
	b.WriteString(in.Op.String())
	if in.Op == JCC || in.Op == SETCC || in.Op == CMOVCC {
		b.WriteString(condNames[in.Cond&15])
	}
	for i := range in.Args {
		a := &in.Args[i]
		if a.Kind == NoArg {
			break
		}
		if i == 0 {
			b.WriteByte(' ')
		} else {
			b.WriteString(", ")
		}
		b.WriteString(in.argText(i, a))
		if i == 0 && in.Mask != 0 {
			fmt.Fprintf(&b, " {%s}", in.Mask.Name(64))
			if in.Zero {
				b.WriteString(" {z}")
			}
		}
	}
	return b.String()
}

func (in *Inst) argText(i int, a *Arg) string {
	width := in.argWidth(i)
	switch a.Kind {
	case RegArg:
		return a.Reg.Name(width)
	case ImmArg:
		return fmt.Sprint(a.Imm)
	case LabelArg:
		return fmt.Sprintf(".%d", a.Imm)
	}
	var text string
	if a.Kind == PoolArg {
		text = fmt.Sprintf("[rip + pool+%d]", a.Imm+int64(a.Disp))
	} else {
		text = "[" + a.memText(in.indexWidth(i)) + "]"
	}
	size := map[int]string{8: "byte", 16: "word", 32: "dword", 64: "qword", 128: "xmmword", 256: "ymmword", 512: "zmmword"}[width]
	if in.Bcast {
		f := formOf(in)
		if f != nil && f.bcast != 0 {
			n := int(in.Width) / (8 * int(f.bcast)) >> f.tuple.shift
			return fmt.Sprintf("%s ptr %s{1to%d}", map[uint8]string{4: "dword", 8: "qword"}[f.bcast], text, n)
		}
	}
	if in.Op == LEA || size == "" {
		return text
	}
	return size + " ptr " + text
}

func (a *Arg) memText(indexWidth int) string {
	var parts []string
	if a.Reg != 0 {
		parts = append(parts, a.Reg.Name(64))
	}
	if a.Index != 0 {
		s := a.Index.Name(indexWidth)
		if a.Scale > 1 {
			s = fmt.Sprintf("%d*%s", a.Scale, s)
		}
		parts = append(parts, s)
	}
	text := strings.Join(parts, " + ")
	switch {
	case text == "":
		return fmt.Sprint(a.Disp)
	case a.Disp < 0:
		return fmt.Sprintf("%s - %d", text, -int64(a.Disp))
	case a.Disp > 0:
		return fmt.Sprintf("%s + %d", text, a.Disp)
	}
	return text
}

// indexWidth returns the width of a vector index.
func (in *Inst) indexWidth(i int) int {
	if in.Args[i].Index.Class() != Vec {
		return 64
	}
	if f := formOf(in); f != nil && f.args[i].mem == 'Y' {
		return int(in.Width) / 2
	}
	return int(in.Width)
}

// argWidth returns the width in bits that operand i is seen with.
func (in *Inst) argWidth(i int) int {
	w := int(in.Width)
	if in.Op < VMOVUPS {
		switch {
		case i > 0 && (in.Op == MOVZXB || in.Op == MOVSXB):
			return 8
		case i > 0 && (in.Op == MOVZXW || in.Op == MOVSXW):
			return 16
		case i > 0 && in.Op == MOVSXD:
			return 32
		case i > 0 && (in.Op == SHL || in.Op == SHR || in.Op == SAR || in.Op == ROL || in.Op == ROR), in.Op == SETCC:
			return 8
		case in.Op == PUSH || in.Op == POP || in.Op == JMP || in.Op == CALL || in.Op == BSWAP && w < 32:
			return 64
		}
		return w
	}
	f := formOf(in)
	if f == nil || i >= len(f.args) {
		return w
	}
	p := &f.args[i]
	mem := in.Args[i].Kind == MemArg || in.Args[i].Kind == PoolArg
	switch {
	case mem && f.tuple.bytes != 0 && p.class != 'g':
		return 8 * int(f.tuple.bytes)
	case f.wide && p.class != 'g':
		return 128
	case p.class == 'g':
		switch {
		case f.wide:
			return w
		case in.Op == VMOVQ || in.Op == KMOVQ || in.Op == VPBROADCASTQR:
			return 64
		}
		return 32
	case p.class == 'x', f.tuple.bytes != 0 && f.tuple.bytes < 16 && p.class == 'v' && p.mem == '*':
		return 128
	case p.class == 'h', p.class == 'y':
		return max(w/2, 128)
	case p.class == 'q':
		return max(w/4, 128)
	}
	return w
}
