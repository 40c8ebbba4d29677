package ir

// Op is an operation. Its properties are the row of the table that [Op.Info]
// returns.
type Op uint8

// The operations. The comment gives the meaning; T is the type of the result.
const (
	OpInvalid Op = iota

	OpConst      // constant of type T; bits in Value.Imm
	OpParam      // parameter Imm of the function
	OpBlockParam // parameter of a block

	OpAdd    // x + y, wraps
	OpSub    // x - y, wraps
	OpMul    // x * y, wraps
	OpDiv    // x / y; integers truncate, x/0 = 0, MinInt/-1 = MinInt
	OpRem    // x % y, sign of x; x%0 = x; integers only
	OpNeg    // -x
	OpMulHi  // high half of the double-width product of integers
	OpAnd    // x & y, bool too
	OpOr     // x | y, bool too
	OpXor    // x ^ y, bool too
	OpAndNot // x &^ y
	OpNot    // ^x, bool: !x
	OpShl    // x << y; y unsigned of any width; 0 when y >= width
	OpShr    // x >> y; arithmetic for signed x; sign or 0 when y >= width

	OpEq // x == y
	OpNe // x != y
	OpLt // x < y
	OpLe // x <= y
	OpGt // x > y
	OpGe // x >= y

	OpMin // Go's min: NaN if either is NaN, -0 < +0
	OpMax // Go's max: NaN if either is NaN, -0 < +0

	OpFMA      // x*y + z with one rounding
	OpSqrt     // correctly rounded square root
	OpAbs      // clears the sign of a float
	OpFloor    // towards -Inf
	OpCeil     // towards +Inf
	OpTrunc    // towards zero
	OpRint     // to nearest, ties to even
	OpCopysign // magnitude of x, sign of y

	OpApproxExp2  // 2^x, as good as the target does it in an instruction; so the rest
	OpApproxLog2  // binary logarithm
	OpApproxSin   // sine
	OpApproxCos   // cosine
	OpApproxTanh  // hyperbolic tangent
	OpApproxRsqrt // 1/√x
	OpApproxSqrt  // √x
	OpApproxRecip // 1/x
	OpApproxDiv   // x/y

	OpConvert // numeric conversion; float to int saturates, NaN gives 0; to narrower floats rounds to nearest even
	OpBitcast // same bits, other type of the same width
	OpSelect  // if x then y else z

	OpPopcount // number of one bits
	OpClz      // leading zero bits; width for 0
	OpCtz      // trailing zero bits; width for 0
	OpReverse  // bits in reverse order
	OpPermute  // byte i is the one of y:x that the low 3 bits of nibble i of z name; the nibble's top bit spreads its sign
	OpDot4     // z + the products of the bytes of x and y, which have the sign of T; wraps

	OpThread   // thread index in the block along axis Imm
	OpBlock    // block index in the grid along axis Imm
	OpBlockDim // threads in a block along axis Imm
	OpGridDim  // blocks in the grid along axis Imm
	OpLane     // index in the warp
	OpWarp     // index of the warp in the block
	OpWarpSize // threads in a warp

	OpLocal       // pointer to a new private object of the pointee type
	OpShared      // pointer to shared object Imm of the module
	OpTable       // pointer to table Imm of the module
	OpLocalSized  // pointer to the first of x zeros in a new private array; x becomes constant in pass size
	OpSharedSized // pointer to the first element of shared object Imm, as array of x elements; x likewise
	OpLaunch      // the kernel runs in blocks of x threads, y of them at once on a unit; gone after pass size
	OpCluster     // the kernel runs in clusters of x blocks along x; likewise
	OpIndex       // pointer to array -> pointer to element y; unchecked
	OpOffset      // pointer advanced by y elements; unchecked
	OpField       // pointer to struct -> pointer to field Imm
	OpLoad        // *x
	OpLoadBytes   // integer of the elements from *x on, the lowest first, at any alignment; vector code only
	OpStore       // *x = y
	OpCopyAsync   // *x = what is at y, at some time before copy.wait; x in shared memory, y in global
	OpCopyVec     // Imm elements from x on = those from y on if z, else zeros; otherwise like copy.async
	OpCopyCommit  // makes a group of the copies that the thread has begun since the last
	OpCopyWait    // waits for the copies that the thread has begun
	OpCopyGroups  // waits for them but for the x latest groups; x becomes constant in pass size
	OpCopyTensor  // a bulk copy to x, in shared memory, of the box at operands 3 to 5 of the tensor map y, which the phase of the barrier z counts; operand 6 has a bit for each block of the cluster that gets it, 0 for the own alone
	OpCopyPixels  // a bulk copy to x likewise, of channels from operand 3 on of pixels from the one at operands 4 to 6 of image 7 on, moved by operands 8 to 10, of the im2col map y, which the phase of the barrier z counts; operand 11 is how many axes there are, 12 has a bit for each block
	OpStoreTensor // a bulk copy of the thread's from x, in shared memory, to the box at operands 2 to 4 of the tensor map y
	OpStoreWait   // waits until at most x of the thread's latest store.tensor still read shared memory
	OpCopyBegun   // notes that a copy of Imm elements from x on, in shared memory, may go on until a wait; checked code of the CPU only
	OpZero        // zero the object x points to
	OpBounds      // fail the kernel unless 0 <= x < y; Imm says what is checked, for the message
	OpNonNil      // fail the kernel unless x, whether a pointer that is used has been set
	OpDivisor     // fail the kernel unless y, by which x is divided, is not zero; in checked builds only
	OpCount       // fail the kernel unless x, the count of a shift, is not negative; likewise

	OpAssert // fail the kernel with text Imm of the module, a format for y and z if there are such, unless x
	OpPrint  // print the operands by the format that is text Imm of the module

	OpBarrier     // all threads of the block meet; memory is ordered
	OpGridBarrier // all threads of the grid meet; memory is ordered
	OpClusterSync // all threads of the cluster of blocks meet; memory is ordered
	OpWarpBarrier // all threads of the warp meet; memory is ordered
	OpFence       // memory accesses before come before those after, for all threads of the device
	OpFenceBlock  // likewise, for the threads of the block
	OpMBarInit    // begins the first phase of the barrier at x, in shared memory, of y arrivals
	OpMBarArrive  // an arrival in the phase of the barrier at x
	OpMBarExpect  // likewise, and the phase waits for y bytes of bulk copies
	OpMBarRemote  // an arrival in the phase of the barrier that block y of the cluster has where x is
	OpMBarTest    // whether the phase of parity y of the barrier at x is complete; may wait for it
	OpShflIdx     // x of lane y modulo the warp size
	OpShflUp      // x of lane - y, own x when there is none
	OpShflDown    // x of lane + y, own x when there is none
	OpShflXor     // x of lane ^ y, own x when there is none
	OpBallot      // bit set of the lanes whose x is true
	OpAny         // whether x is true in some lane of the warp
	OpAll         // whether x is true in every lane of the warp
	OpWhole       // whether every lane of the vector is on, or Imm is 1, and the operands are true in each; vector code only

	// Imm of the next three is what they ask and of which kind of product, see MatrixImm.
	OpMatrixFact // a number of the target's matrix instruction, 0 if it has none; gone after pass target
	OpMatrixRow  // row of element x of the lane in an operand of a matrix instruction; likewise
	OpMatrixCol  // column; likewise
	OpMMA        // sums at x += product of the factors at y and z, of the kind Imm, for all lanes of the warp together
	OpLoadMatrix // the 16-byte rows at y of all lanes, dealt to the lanes in fragments of 4 bytes, go to x; Imm is 1 for columns

	// The factors of 32 rows of A, operand 3 elements apart, and of two columns of B for each lane, all
	// the same in all lanes. Operand 4 is the number of steps along k, of 64 bytes of each row. B has
	// 4 bytes along k of each column next to each other: those of the first column of all lanes, then
	// those of the second. A lane has its sums of 16 rows one after the other: of the first column, of
	// the second, and then of the other rows.
	OpPackedMMA // sums at x = product of the factors at y and z, of the kind Imm, for all lanes of the vector together

	// Four warps multiply 64 rows of A, 16 to a warp, by operand 3 columns of B, 8 to 256. The factors
	// are in shared memory in rows of 128 bytes, of which row r has chunk i of 16 bytes at i ^ r%8;
	// operand 4 is how many rows there are, and operands 5 and 6 say of A and of B whether neighbours
	// in a row are neighbours across k. The product may not be over before wgmma.wait.
	OpWarpgroupMMA    // like mma for such a group, with factors in shared memory or the first one local
	OpWarpgroupFence  // registers that group products read and write are ready
	OpWarpgroupCommit // group products since the last one are a batch
	OpWarpgroupWait   // waits until at most x batches are not over
	OpWarpgroupRegs   // each thread of the group has x registers from here on; Imm is 1 if they become more
	OpAsyncFence      // the thread's accesses of shared memory before are before those of group products after a barrier

	// Imm of an atomic operation is its order and scope, see AtomicImm.
	OpAtomicAdd   // old *x; *x += y; of halves, too: the sum in f32, rounded to nearest even
	OpAtomicMin   // old *x; *x = min(*x, y); integers only
	OpAtomicMax   // old *x; *x = max(*x, y); integers only
	OpAtomicAnd   // old *x; *x &= y
	OpAtomicOr    // old *x; *x |= y
	OpAtomicXor   // old *x; *x ^= y
	OpAtomicExch  // old *x; *x = y
	OpAtomicCAS   // old *x; if the bits of *x are those of y then *x = z
	OpAtomicLoad  // *x, never a mixture of two writes
	OpAtomicStore // *x = y, as a whole

	OpCall // call of function Callee; T is its result, a tuple for several
	OpProj // result Imm of a call with several results

	numOps
)

// MaxCluster is how many blocks a cluster has at most on every device that has clusters.
const MaxCluster = 8

// MaxCopyVec is the most elements that one copy.vec copies.
const MaxCopyVec = 16

// Uniformity of the value that an operation produces from uniform operands.
type Uniformity uint8

// The lattice, from most to least uniform.
const (
	UniformGrid  Uniformity = iota // same for all threads of the grid
	UniformBlock                   // same for all threads of a block
	UniformWarp                    // same for all threads of a warp
	Varying                        // may differ between threads
)

// Effect says how an operation touches memory and other threads.
type Effect uint8

// The effects; an operation without any is pure.
const (
	Reads      Effect = 1 << iota // reads memory
	Writes                        // writes memory
	Fails                         // may end the kernel with an error
	Convergent                    // must not gain or lose control dependences
)

// Rule is the typing rule of an operation; the verifier implements each.
type Rule uint8

// The typing rules.
const (
	RuleNone      Rule = iota // checked by its own code
	RuleArith                 // T int or float, operands T
	RuleInt                   // T int, operands T
	RuleWord                  // T i32 or u32, operands T
	RuleLogic                 // T int or bool, operands T
	RuleFloat                 // T float, operands T
	RuleApprox                // T f32, operands T; targets may differ in the last bits, see [Approx]
	RuleShift                 // T int, x of T, y unsigned
	RuleCompare               // T bool, operands of one scalar or pointer type
	RuleBoolArith             // ordering: T bool, operands of one int or float type
	RuleConvert               // numeric to numeric
	RuleBitcast               // same size
	RuleSelect                // x bool, y and z of T
	RuleGeom                  // T i64, Imm is an axis 0..2
	RuleWarp                  // T i64, no operands
	RulePtr                   // pointer formation
	RuleMem                   // loads, stores
	RuleText                  // operands scalars, of assert a bool and up to two i64; Imm is the number of a text
	RuleShfl                  // T a number, halves too, x of T, y i64
	RuleVote                  // x bool
	RuleMatrix                // matrix instructions, see [MatrixKind]
	RuleAtomic                // x pointer to what the result and the others are
)

// Info is a row of the operation table.
type Info struct {
	Name    string     // spelling in the text form
	Args    int        // number of operands; -1 for any
	Rule    Rule       // typing rule
	Effect  Effect     // zero for pure operations
	Uniform Uniformity // of the result, given uniform operands
	Commute bool       // operands may be exchanged
	HasImm  bool       // Imm is printed
	MayImm  bool       // Imm is printed unless it is 0
	NoValue bool       // yields nothing
}

var ops = [numOps]Info{
	OpConst:      {Name: "const", HasImm: true},
	OpParam:      {Name: "param", HasImm: true},
	OpBlockParam: {Name: "blockparam"},

	OpAdd:    {Name: "add", Args: 2, Rule: RuleArith, Commute: true},
	OpSub:    {Name: "sub", Args: 2, Rule: RuleArith},
	OpMul:    {Name: "mul", Args: 2, Rule: RuleArith, Commute: true},
	OpDiv:    {Name: "div", Args: 2, Rule: RuleArith},
	OpRem:    {Name: "rem", Args: 2, Rule: RuleInt},
	OpNeg:    {Name: "neg", Args: 1, Rule: RuleArith},
	OpMulHi:  {Name: "mulhi", Args: 2, Rule: RuleInt, Commute: true},
	OpAnd:    {Name: "and", Args: 2, Rule: RuleLogic, Commute: true},
	OpOr:     {Name: "or", Args: 2, Rule: RuleLogic, Commute: true},
	OpXor:    {Name: "xor", Args: 2, Rule: RuleLogic, Commute: true},
	OpAndNot: {Name: "andnot", Args: 2, Rule: RuleLogic},
	OpNot:    {Name: "not", Args: 1, Rule: RuleLogic},
	OpShl:    {Name: "shl", Args: 2, Rule: RuleShift},
	OpShr:    {Name: "shr", Args: 2, Rule: RuleShift},

	OpEq: {Name: "eq", Args: 2, Rule: RuleCompare, Commute: true},
	OpNe: {Name: "ne", Args: 2, Rule: RuleCompare, Commute: true},
	OpLt: {Name: "lt", Args: 2, Rule: RuleBoolArith, MayImm: true},
	OpLe: {Name: "le", Args: 2, Rule: RuleBoolArith, MayImm: true},
	OpGt: {Name: "gt", Args: 2, Rule: RuleBoolArith, MayImm: true},
	OpGe: {Name: "ge", Args: 2, Rule: RuleBoolArith, MayImm: true},

	OpMin: {Name: "min", Args: 2, Rule: RuleArith, Commute: true},
	OpMax: {Name: "max", Args: 2, Rule: RuleArith, Commute: true},

	OpFMA:      {Name: "fma", Args: 3, Rule: RuleFloat},
	OpSqrt:     {Name: "sqrt", Args: 1, Rule: RuleFloat},
	OpAbs:      {Name: "abs", Args: 1, Rule: RuleFloat},
	OpFloor:    {Name: "floor", Args: 1, Rule: RuleFloat},
	OpCeil:     {Name: "ceil", Args: 1, Rule: RuleFloat},
	OpTrunc:    {Name: "trunc", Args: 1, Rule: RuleFloat},
	OpRint:     {Name: "rint", Args: 1, Rule: RuleFloat},
	OpCopysign: {Name: "copysign", Args: 2, Rule: RuleFloat},

	OpApproxExp2:  {Name: "approx.exp2", Args: 1, Rule: RuleApprox},
	OpApproxLog2:  {Name: "approx.log2", Args: 1, Rule: RuleApprox},
	OpApproxSin:   {Name: "approx.sin", Args: 1, Rule: RuleApprox},
	OpApproxCos:   {Name: "approx.cos", Args: 1, Rule: RuleApprox},
	OpApproxTanh:  {Name: "approx.tanh", Args: 1, Rule: RuleApprox},
	OpApproxRsqrt: {Name: "approx.rsqrt", Args: 1, Rule: RuleApprox},
	OpApproxSqrt:  {Name: "approx.sqrt", Args: 1, Rule: RuleApprox},
	OpApproxRecip: {Name: "approx.recip", Args: 1, Rule: RuleApprox},
	OpApproxDiv:   {Name: "approx.div", Args: 2, Rule: RuleApprox},

	OpConvert: {Name: "convert", Args: 1, Rule: RuleConvert},
	OpBitcast: {Name: "bitcast", Args: 1, Rule: RuleBitcast},
	OpSelect:  {Name: "select", Args: 3, Rule: RuleSelect},

	OpPopcount: {Name: "popcount", Args: 1, Rule: RuleInt},
	OpClz:      {Name: "clz", Args: 1, Rule: RuleInt},
	OpCtz:      {Name: "ctz", Args: 1, Rule: RuleInt},

	OpReverse: {Name: "reverse", Args: 1, Rule: RuleInt},
	OpPermute: {Name: "permute", Args: 3, Rule: RuleWord},
	OpDot4:    {Name: "dot4", Args: 3, Rule: RuleWord},

	OpThread:   {Name: "thread", Rule: RuleGeom, HasImm: true, Uniform: Varying},
	OpBlock:    {Name: "block", Rule: RuleGeom, HasImm: true, Uniform: UniformBlock},
	OpBlockDim: {Name: "blockdim", Rule: RuleGeom, HasImm: true},
	OpGridDim:  {Name: "griddim", Rule: RuleGeom, HasImm: true},
	OpLane:     {Name: "lane", Rule: RuleWarp, Uniform: Varying},
	OpWarp:     {Name: "warp", Rule: RuleWarp, Uniform: UniformWarp},
	OpWarpSize: {Name: "warpsize", Rule: RuleWarp},

	OpLocal:       {Name: "local", Rule: RulePtr, Uniform: Varying},
	OpShared:      {Name: "shared", Rule: RulePtr, HasImm: true, Uniform: UniformBlock},
	OpTable:       {Name: "table", Rule: RulePtr, HasImm: true},
	OpLocalSized:  {Name: "local.sized", Args: 1, Rule: RulePtr, Effect: Writes, Uniform: Varying},
	OpSharedSized: {Name: "shared.sized", Args: 1, Rule: RulePtr, HasImm: true, Uniform: UniformBlock},
	OpCluster:     {Name: "launch.cluster", Args: 1, Rule: RuleNone, Effect: Fails, NoValue: true},
	OpLaunch:      {Name: "launch.bounds", Args: 2, Rule: RuleNone, Effect: Fails, NoValue: true},
	OpIndex:       {Name: "index", Args: 2, Rule: RulePtr},
	OpOffset:      {Name: "offset", Args: 2, Rule: RulePtr},
	OpField:       {Name: "field", Args: 1, Rule: RulePtr, HasImm: true},
	OpLoad:        {Name: "load", Args: 1, Rule: RuleMem, Effect: Reads},
	OpLoadBytes:   {Name: "load.bytes", Args: 1, Rule: RuleMem, Effect: Reads},
	OpStore:       {Name: "store", Args: 2, Rule: RuleMem, Effect: Writes, NoValue: true},
	OpCopyAsync:   {Name: "copy.async", Args: 2, Rule: RuleMem, Effect: Reads | Writes, NoValue: true},
	OpCopyVec:     {Name: "copy.vec", Args: 3, Rule: RuleMem, Effect: Reads | Writes, NoValue: true, HasImm: true},
	OpCopyCommit:  {Name: "copy.commit", Effect: Reads | Writes, NoValue: true},
	OpCopyWait:    {Name: "copy.wait", Effect: Reads | Writes, NoValue: true},
	OpCopyGroups:  {Name: "copy.wait.groups", Args: 1, Rule: RuleNone, Effect: Reads | Writes, NoValue: true},
	OpCopyTensor:  {Name: "copy.tensor", Args: 7, Rule: RuleMem, Effect: Reads | Writes, NoValue: true},
	OpCopyPixels:  {Name: "copy.pixels", Args: 13, Rule: RuleMem, Effect: Reads | Writes, NoValue: true},
	OpStoreTensor: {Name: "store.tensor", Args: 5, Rule: RuleMem, Effect: Reads | Writes, NoValue: true},
	OpStoreWait:   {Name: "store.tensor.wait", Args: 1, Rule: RuleNone, Effect: Reads | Writes, NoValue: true},
	OpCopyBegun:   {Name: "copy.begun", Args: 1, Rule: RuleMem, Effect: Reads | Writes, NoValue: true, HasImm: true},
	OpZero:        {Name: "zero", Args: 1, Rule: RuleMem, Effect: Writes, NoValue: true},
	OpBounds:      {Name: "bounds", Args: 2, Rule: RuleNone, Effect: Fails, NoValue: true, MayImm: true},
	OpNonNil:      {Name: "nonnil", Args: 1, Rule: RuleNone, Effect: Fails, NoValue: true},
	OpDivisor:     {Name: "divisor", Args: 2, Rule: RuleNone, Effect: Fails, NoValue: true},
	OpCount:       {Name: "count", Args: 1, Rule: RuleNone, Effect: Fails, NoValue: true},

	OpAssert: {Name: "assert", Args: -1, Rule: RuleText, Effect: Fails, NoValue: true, HasImm: true},
	OpPrint:  {Name: "print", Args: -1, Rule: RuleText, Effect: Reads | Writes, NoValue: true, HasImm: true},

	OpBarrier:     {Name: "barrier", Effect: Reads | Writes | Convergent, NoValue: true},
	OpGridBarrier: {Name: "gridbarrier", Effect: Reads | Writes | Convergent, NoValue: true},
	OpClusterSync: {Name: "clusterbarrier", Effect: Reads | Writes | Convergent, NoValue: true},
	OpWarpBarrier: {Name: "warpbarrier", Effect: Reads | Writes | Convergent, NoValue: true},
	OpFence:       {Name: "fence", Effect: Reads | Writes, NoValue: true},
	OpFenceBlock:  {Name: "fence.block", Effect: Reads | Writes, NoValue: true},
	OpMBarInit:    {Name: "mbarrier.init", Args: 2, Rule: RuleMem, Effect: Reads | Writes, NoValue: true},
	OpMBarArrive:  {Name: "mbarrier.arrive", Args: 1, Rule: RuleMem, Effect: Reads | Writes, NoValue: true},
	OpMBarExpect:  {Name: "mbarrier.arrive.expect", Args: 2, Rule: RuleMem, Effect: Reads | Writes, NoValue: true},
	OpMBarRemote:  {Name: "mbarrier.arrive.remote", Args: 2, Rule: RuleMem, Effect: Reads | Writes, NoValue: true},
	OpMBarTest:    {Name: "mbarrier.test", Args: 2, Rule: RuleMem, Effect: Reads | Writes, Uniform: Varying},
	OpShflIdx:     {Name: "shfl.idx", Args: 2, Rule: RuleShfl, Effect: Convergent, Uniform: Varying},
	OpShflUp:      {Name: "shfl.up", Args: 2, Rule: RuleShfl, Effect: Convergent, Uniform: Varying},
	OpShflDown:    {Name: "shfl.down", Args: 2, Rule: RuleShfl, Effect: Convergent, Uniform: Varying},
	OpShflXor:     {Name: "shfl.xor", Args: 2, Rule: RuleShfl, Effect: Convergent, Uniform: Varying},
	OpBallot:      {Name: "ballot", Args: 1, Rule: RuleVote, Effect: Convergent, Uniform: UniformWarp},
	OpAny:         {Name: "any", Args: 1, Rule: RuleVote, Effect: Convergent, Uniform: UniformWarp},
	OpAll:         {Name: "all", Args: 1, Rule: RuleVote, Effect: Convergent, Uniform: UniformWarp},
	OpWhole:       {Name: "whole", Args: -1, Rule: RuleNone, Effect: Convergent, Uniform: UniformWarp, MayImm: true},

	OpMatrixFact: {Name: "matrix.fact", Rule: RuleMatrix, HasImm: true},
	OpMatrixRow:  {Name: "matrix.row", Args: 1, Rule: RuleMatrix, HasImm: true, Uniform: Varying},
	OpMatrixCol:  {Name: "matrix.col", Args: 1, Rule: RuleMatrix, HasImm: true, Uniform: Varying},
	OpMMA:        {Name: "mma", Args: 3, Rule: RuleMatrix, Effect: Reads | Writes | Convergent, NoValue: true, HasImm: true},
	OpLoadMatrix: {Name: "ldmatrix", Args: 2, Rule: RuleMatrix, Effect: Reads | Writes | Convergent, NoValue: true, MayImm: true},

	OpPackedMMA: {Name: "mma.packed", Args: 5, Rule: RuleMatrix, Effect: Reads | Writes | Convergent, NoValue: true, HasImm: true},

	OpWarpgroupMMA:    {Name: "wgmma", Args: 8, Rule: RuleMatrix, Effect: Reads | Writes | Convergent, NoValue: true, HasImm: true},
	OpWarpgroupFence:  {Name: "wgmma.fence", Effect: Reads | Writes | Convergent, NoValue: true},
	OpWarpgroupCommit: {Name: "wgmma.commit", Effect: Reads | Writes | Convergent, NoValue: true},
	OpWarpgroupWait:   {Name: "wgmma.wait", Args: 1, Rule: RuleMatrix, Effect: Reads | Writes | Convergent, NoValue: true},
	OpWarpgroupRegs:   {Name: "wgmma.registers", Args: 1, Rule: RuleMatrix, Effect: Reads | Writes | Convergent, NoValue: true, MayImm: true},
	OpAsyncFence:      {Name: "async.fence", Effect: Reads | Writes, NoValue: true},

	OpAtomicAdd:  {Name: "atomic.add", Args: 2, Rule: RuleAtomic, Effect: Reads | Writes, Uniform: Varying, MayImm: true},
	OpAtomicMin:  {Name: "atomic.min", Args: 2, Rule: RuleAtomic, Effect: Reads | Writes, Uniform: Varying, MayImm: true},
	OpAtomicMax:  {Name: "atomic.max", Args: 2, Rule: RuleAtomic, Effect: Reads | Writes, Uniform: Varying, MayImm: true},
	OpAtomicAnd:  {Name: "atomic.and", Args: 2, Rule: RuleAtomic, Effect: Reads | Writes, Uniform: Varying, MayImm: true},
	OpAtomicOr:   {Name: "atomic.or", Args: 2, Rule: RuleAtomic, Effect: Reads | Writes, Uniform: Varying, MayImm: true},
	OpAtomicXor:  {Name: "atomic.xor", Args: 2, Rule: RuleAtomic, Effect: Reads | Writes, Uniform: Varying, MayImm: true},
	OpAtomicExch: {Name: "atomic.exch", Args: 2, Rule: RuleAtomic, Effect: Reads | Writes, Uniform: Varying, MayImm: true},
	OpAtomicCAS:  {Name: "atomic.cas", Args: 3, Rule: RuleAtomic, Effect: Reads | Writes, Uniform: Varying, MayImm: true},
	// An atomic load has the effects of a write so that no pass merges it with
	// another, moves it, or moves other accesses across it.
	OpAtomicLoad:  {Name: "atomic.load", Args: 1, Rule: RuleAtomic, Effect: Reads | Writes, Uniform: Varying, MayImm: true},
	OpAtomicStore: {Name: "atomic.store", Args: 2, Rule: RuleAtomic, Effect: Reads | Writes, NoValue: true, MayImm: true},

	OpCall: {Name: "call", Args: -1, Effect: Reads | Writes | Fails | Convergent, Uniform: Varying},
	OpProj: {Name: "proj", Args: 1, HasImm: true},
}

var opByName = func() map[string]Op {
	m := make(map[string]Op, numOps)
	for op := OpInvalid + 1; op < numOps; op++ {
		m[ops[op].Name] = op
	}
	return m
}()

// Info returns the row of op in the operation table, an empty one for what is no operation.
func (op Op) Info() *Info {
	if op >= numOps {
		op = OpInvalid
	}
	return &ops[op]
}

func (op Op) String() string {
	if op >= numOps || ops[op].Name == "" {
		return "invalid"
	}
	return ops[op].Name
}

// Ops calls yield for every operation, in order.
func Ops(yield func(Op) bool) {
	for op := OpInvalid + 1; op < numOps; op++ {
		if !yield(op) {
			return
		}
	}
}

// IsMBarrier reports whether op works on a barrier in shared memory that counts arrivals.
func (op Op) IsMBarrier() bool { return op >= OpMBarInit && op <= OpMBarTest }

// Pure reports whether op has no effect, so that an unused result can be
// dropped and equal operands give equal results.
func (op Op) Pure() bool { return ops[op].Effect == 0 }

// Has reports whether op has any of the effects e.
func (op Op) Has(e Effect) bool { return ops[op].Effect&e != 0 }
