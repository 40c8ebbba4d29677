package dsl

// Matrix instructions multiply small matrices that are distributed over the lanes of a warp, in
// fragments: local arrays. Package [github.com/gokiln/kiln/dsl/tile] makes products of any size of
// them, for all devices; this is what it is made of.
//
// Which instruction there is depends on the device and on the type of the factors: [MatrixShape]
// says it, and says 0 where there is none, as in plain Go. All of it is known when the kernel is
// compiled, so that a branch on it disappears.

// MatrixFact is what [MatrixShape] is asked.
type MatrixFact ConstInt

// What is known of the instruction D = A·B + C for factors of a type.
const (
	MatrixM          MatrixFact = iota // rows of A and of the sums
	MatrixN                            // columns of B and of the sums
	MatrixK                            // columns of A and rows of B
	MatrixLenA                         // elements of A that a lane has
	MatrixLenB                         // elements of B that a lane has
	MatrixLenC                         // sums that a lane has
	MatrixLoads                        // 1 if LoadMatrix loads fragments of A and B
	MatrixTransposes                   // 1 if it does so of matrices that are stored by columns, too
	MatrixWarpgroup                    // warps that multiply together by WarpgroupMMA, 4, or 0
	MatrixVecA                         // elements of A that a lane has next to each other along k, aligned
	MatrixVecB                         // elements of B
	MatrixNext                         // columns from each even sum of a lane to the next one, in the same row
	MatrixRunA                         // elements of A that a lane has of one row, before those of the next
	MatrixRunC                         // sums that a lane has of one row, likewise
	MatrixRowLanes                     // the bits of a lane's number in which lanes with sums of one row differ
	MatrixReuse                        // 1 if sums of a lane are elements of A, see [MatrixBSums]; 2 if B is as ever then
	MatrixPacked                       // rows that PackedMMA multiplies, 32, or 0; known when the code is loaded, not compiled
)

// MatrixOperand is one of the matrices of a product.
type MatrixOperand ConstInt

// The operands of D = A·B + C. D has the layout of C.
const (
	MatrixA MatrixOperand = iota
	MatrixB
	MatrixC

	// MatrixBSums is B where A is a lane's own sums of another product, if the fact MatrixReuse is not 0.
	// Elements of A and sums of one row are matched in turn, so that A's columns are those of the sums in
	// another order, and B's rows are, too: a step takes as many as there are in a row of A or of the sums,
	// whichever are more. If A has fewer, element number MatrixLenB of B is that of the second fragment of A.
	MatrixBSums
)

// MatrixShape returns a fact of the device's matrix instruction for factors of type T and sums of
// type C, 0 if it has none. The types are F16, BF16 and TF32, of which products are exact, with sums in
// float32, float64 with sums of its own type, int8 with sums in int32, uint8 with sums in uint32, and
// F8E4M3 and F8E5M2 with sums in float32, which have fewer bits inside an instruction.
//
//kiln:intrinsic
func MatrixShape[T, C Number](t Thread, fact MatrixFact) ConstInt { return 0 }

// MatrixRow returns the row of element i of the lane's fragment of an operand.
//
//kiln:intrinsic
func MatrixRow[T Number](t Thread, o MatrixOperand, i int) int { return 0 }

// MatrixCol is [MatrixRow] for the column.
//
//kiln:intrinsic
func MatrixCol[T Number](t Thread, o MatrixOperand, i int) int { return 0 }

// MMA adds the product of the fragments a[i:] and b[j:] to the sums c[k:], for all lanes of the
// warp together. Sums have the type of [MatrixShape]. Of factors of type TF32, the 13 lowest
// bits are not read. The slices are of local memory, and
// their indices constants once loops are unrolled. Only a device on which MatrixShape is not 0
// comes to it.
//
//kiln:intrinsic
func MMA[T, C Number](t Thread, a []T, i int, b []T, j int, c []C, k int) {
	panic("dsl.MMA: this device has no matrix instruction for the type; ask dsl.MatrixShape first")
}

// LoadMatrix loads 16 bytes into a fragment dst[i:] of the lane from shared memory: four matrices
// of eight rows of 16 bytes, of which lane l names row l by src[j:]. The lane gets 4 bytes of
// each: those of row lane/4, the (lane%4)th. With transposed it gets, of elements of two bytes, rows
// 2·(lane%4) and the next of column lane/4 in their place. All lanes of a warp call it, if the
// fact MatrixLoads is 1.
//
//kiln:intrinsic
func LoadMatrix[T Number](t Thread, dst []T, i int, src []T, j int, transposed ConstBool) {
	panic("dsl.LoadMatrix: this device has no such instruction; ask dsl.MatrixShape first")
}

// WarpgroupMMA begins to add a product to the sums c[k:] of a warpgroup, or to store it there without
// add, four warps of which the first is a multiple of four: 64 rows of A, of which each warp has 16, by
// n columns of B, 8 to 256. A warp has the fragments of [MMA] for adjacent columns one after the other.
// The factors are in shared memory from a[i:] and b[j:] on, multiples of 1024 bytes but for the steps
// along k, with the 128-byte swizzle: row r of 128 bytes has chunk q of 16 bytes at q ^ r%8. A factor
// is transposed if a row is contiguous across k; its rows are along k then, and further columns are so
// many rows further on. Only where the fact MatrixTransposes is 1 may factors be transposed. A may be
// in local memory, too, and is not transposed then: each warp has a fragment of [MMA] at a[i:].
//
// Sums may be read behind a [WarpgroupWait], and before the first product behind a [WarpgroupFence]. The
// factors may be written again by then; what other threads have written of them is there behind
// [AsyncFence], by those, and a barrier. Only a device of which the fact MatrixWarpgroup is not 0
// comes to it.
//
//kiln:intrinsic
func WarpgroupMMA[T, C Number](t Thread, a []T, i int, b []T, j int, c []C, k int, n, rows ConstInt, transposedA, transposedB, add ConstBool) {
	panic("dsl.WarpgroupMMA: this device has no such instruction; ask dsl.MatrixShape first")
}

// WarpgroupFence comes before the first [WarpgroupMMA] and after registers of its sums were written
// otherwise.
//
//kiln:intrinsic
func WarpgroupFence() {}

// WarpgroupCommit makes the products that the group has begun since the last one a batch.
//
//kiln:intrinsic
func WarpgroupCommit() {}

// WarpgroupWait waits until at most n of the latest batches are under way, 0 to 7, a constant.
//
//kiln:intrinsic
func WarpgroupWait(t Thread, n ConstInt) {}

// FewerRegisters leaves each thread of a warpgroup n registers, a multiple of 8 from 24 on, and waits
// for nothing: the others are for [MoreRegisters] of another warpgroup of the block. A thread begins
// with those that [LaunchBounds] of the kernel leave it.
//
//kiln:intrinsic
func FewerRegisters(t Thread, n ConstInt) {}

// MoreRegisters gives each thread of a warpgroup n registers, and waits until there are so many.
//
//kiln:intrinsic
func MoreRegisters(t Thread, n ConstInt) {}

// AsyncFence orders the thread's writes to shared memory before what [WarpgroupMMA] reads there behind
// a barrier.
//
//kiln:intrinsic
func AsyncFence() {}
