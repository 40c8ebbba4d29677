package ir

// MatrixKind is the types of a product of matrices: those of the factors and of the sums.
type MatrixKind uint8

// The kinds.
const (
	MatrixF16  MatrixKind = iota // f16, sums in f32
	MatrixBF16                   // bf16, sums in f32
	MatrixTF32                   // f32 of which 10 bits of fraction count, sums in f32
	MatrixF64                    // f64
	MatrixE4M3                   // F8E4M3, sums in f32
	MatrixE5M2                   // F8E5M2, sums in f32
	MatrixI8                     // i8, sums in i32
	MatrixU8                     // u8, sums in u32

	NumMatrixKinds
)

var matrixTypes = [NumMatrixKinds]struct{ elem, sum *Type }{
	MatrixF16: {F16, F32}, MatrixBF16: {BF16, F32}, MatrixTF32: {F32, F32}, MatrixF64: {F64, F64},
	MatrixE4M3: {U8, F32}, MatrixE5M2: {U8, F32}, MatrixI8: {I8, I32}, MatrixU8: {U8, U32},
}

// Types returns the types of the factors and of the sums.
func (k MatrixKind) Types() (elem, sum *Type) {
	return matrixTypes[k].elem, matrixTypes[k].sum
}

// MatrixOperand is one of the matrices of a product.
type MatrixOperand uint8

// The operands of D = A·B + C; D and C are one.
const (
	MatrixA MatrixOperand = iota
	MatrixB
	MatrixC
	MatrixBSums // B for an A that is sums: its rows in the order in which a lane has their columns

	NumMatrixOperands
)

// MatrixFact is a number that a target fixes of its instruction for a kind.
type MatrixFact uint8

// The facts, all 0 where the target has no instruction.
const (
	MatrixM          MatrixFact = iota // rows of A
	MatrixN                            // columns of B
	MatrixK                            // columns of A and rows of B
	MatrixLenA                         // elements of A that a lane has
	MatrixLenB                         // elements of B
	MatrixLenC                         // sums
	MatrixLoads                        // 1: fragments are loaded by OpLoadMatrix
	MatrixTransposes                   // 1: of matrices that are stored transposed, too
	MatrixWarpgroup                    // warps of a group that multiplies factors in shared memory, 4
	MatrixVecA                         // elements of A that a lane has next to each other along k, aligned
	MatrixVecB                         // elements of B
	MatrixNext                         // columns from each even sum of a lane to the next one, in the same row
	MatrixRunA                         // elements of A that a lane has of one row, before those of the next
	MatrixRunC                         // sums, likewise
	MatrixRowLanes                     // the bits of a lane in which lanes with sums of one row differ
	MatrixReuse                        // 1: a lane's sums are its elements of A, for B as MatrixBSums; 2: and that is B
	MatrixPacked                       // rows of A that OpPackedMMA multiplies; known when the code is loaded

	NumMatrixFacts
)

// MatrixImm is the Imm of OpMatrixFact, OpMatrixRow and OpMatrixCol; what is a fact or an operand.
func MatrixImm(k MatrixKind, what uint8) uint64 { return uint64(k)<<8 | uint64(what) }

// OpPackedMMA multiplies PackedRows rows of A, PackedBytes long for each step along k, by PackedColumns
// columns of B for each lane of a vector: blocks of rows and columns that tile registers hold.
const (
	PackedRows    = 32
	PackedColumns = 2
	PackedBytes   = 64
	PackedSums    = PackedRows * PackedColumns // of a lane
)

// MatrixKind is the kind of a matrix operation, and what else it names.
func (v *Value) MatrixKind() (k MatrixKind, what uint8) {
	if v.Op == OpMMA || v.Op == OpWarpgroupMMA || v.Op == OpPackedMMA {
		return MatrixKind(v.Imm & 0xFF), 0
	}
	return MatrixKind(v.Imm >> 8), uint8(v.Imm)
}

// IsMatrix reports whether op writes registers of matrices through its first operand.
func (op Op) IsMatrix() bool {
	return op == OpMMA || op == OpLoadMatrix || op == OpWarpgroupMMA || op == OpPackedMMA
}

// matrix returns what is wrong with a matrix operation.
func (v *verifier) matrix(in *Value) string {
	kind, what := in.MatrixKind()
	local := func(x *Value, t *Type) bool { return x.Type == PtrTo(Local, t) }
	switch in.Op {
	case OpMatrixFact, OpMatrixRow, OpMatrixCol:
		limit := uint8(NumMatrixFacts)
		if in.Op != OpMatrixFact {
			limit = uint8(NumMatrixOperands)
		}
		if kind >= NumMatrixKinds || what >= limit || in.Type != I64 || len(in.Args) == 1 && in.Args[0].Type != I64 {
			return "wants a kind of product, what is asked of it, and i64"
		}
	case OpMMA:
		if kind >= NumMatrixKinds {
			return "wants a kind of product"
		}
		if elem, sum := kind.Types(); !local(in.Args[0], sum) || !local(in.Args[1], elem) || !local(in.Args[2], elem) {
			return "wants pointers to local sums and factors of the kind's types"
		}
	case OpPackedMMA:
		if kind >= NumMatrixKinds {
			return "wants a kind of product"
		}
		elem, sum := kind.Types()
		if global := PtrTo(Global, elem); !local(in.Args[0], sum) || in.Args[1].Type != global || in.Args[2].Type != global {
			return "wants pointers to local sums and to factors in global memory of the kind's types"
		}
		if in.Args[3].Type != I64 || in.Args[4].Type != I64 {
			return "wants the distance of rows and the number of steps along k"
		}
	case OpWarpgroupMMA:
		if kind >= NumMatrixKinds {
			return "wants a kind of product"
		}
		elem, sum := kind.Types()
		shared := PtrTo(Shared, elem)
		if !local(in.Args[0], sum) || in.Args[1].Type != shared && !local(in.Args[1], elem) || in.Args[2].Type != shared {
			return "wants pointers to local sums and to factors of the kind's types, in shared memory or the first one local"
		}
		if in.Args[3].Type != I64 || in.Args[4].Type != I64 || in.Args[5].Type != Bool || in.Args[6].Type != Bool || in.Args[7].Type != Bool {
			return "wants the number of columns, that of rows of a panel, which factors are transposed, and whether it adds to the sums"
		}
	case OpWarpgroupWait, OpWarpgroupRegs:
		if in.Args[0].Type != I64 || in.Imm > 1 {
			return "wants a number of batches or registers"
		}
	case OpLoadMatrix:
		dst, src := in.Args[0].Type, in.Args[1].Type
		if !dst.IsPtr() || !src.IsPtr() || dst.Space != Local || src.Space != Shared || dst.Elem != src.Elem || !isNumber(dst.Elem) || in.Imm > 1 {
			return "loads numbers from shared memory into local memory"
		}
	}
	return ""
}
