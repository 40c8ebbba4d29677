package lower

import (
	"go/types"
	"maps"
	"math"
	"slices"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// intrinsics has a row for each function marked //kiln:intrinsic in package
// dsl and each function of the stand-ins, by package and name.
var intrinsics = map[string]*intrinsic{
	"dsl.Thread.ThreadX":     geometry(ir.OpThread, 0),
	"dsl.Thread.ThreadY":     geometry(ir.OpThread, 1),
	"dsl.Thread.ThreadZ":     geometry(ir.OpThread, 2),
	"dsl.Thread.BlockX":      geometry(ir.OpBlock, 0),
	"dsl.Thread.BlockY":      geometry(ir.OpBlock, 1),
	"dsl.Thread.BlockZ":      geometry(ir.OpBlock, 2),
	"dsl.Thread.BlockDimX":   geometry(ir.OpBlockDim, 0),
	"dsl.Thread.BlockDimY":   geometry(ir.OpBlockDim, 1),
	"dsl.Thread.BlockDimZ":   geometry(ir.OpBlockDim, 2),
	"dsl.Thread.GridDimX":    geometry(ir.OpGridDim, 0),
	"dsl.Thread.GridDimY":    geometry(ir.OpGridDim, 1),
	"dsl.Thread.GridDimZ":    geometry(ir.OpGridDim, 2),
	"dsl.Thread.Lane":        direct(ir.OpLane),
	"dsl.Thread.Warp":        direct(ir.OpWarp),
	"dsl.Thread.WarpSize":    direct(ir.OpWarpSize),
	"dsl.Thread.Sync":        direct(ir.OpBarrier),
	"dsl.Thread.SyncGrid":    direct(ir.OpGridBarrier),
	"dsl.Thread.SyncCluster": direct(ir.OpClusterSync),
	"dsl.Thread.SyncWarp":    direct(ir.OpWarpBarrier),

	"dsl.Shared":        {lower: sharedObject},
	"dsl.SharedSlice":   {lower: sharedSlice},
	"dsl.DynamicShared": {lower: dynamicShared},
	"dsl.LocalSlice":    {lower: localSlice},

	"dsl.LaunchBounds": behindThread(ir.OpLaunch),
	"dsl.Cluster":      behindThread(ir.OpCluster),

	"dsl.F32": {accepts: notFloat8, lower: convertTo},
	"dsl.F64": {accepts: notFloat8, lower: convertTo},
	"dsl.To":  {accepts: notFloat8, lower: convertTo},

	"dsl.Sqrt":      direct(ir.OpSqrt),
	"dsl.Abs":       direct(ir.OpAbs),
	"dsl.Floor":     direct(ir.OpFloor),
	"dsl.Ceil":      direct(ir.OpCeil),
	"dsl.Trunc":     direct(ir.OpTrunc),
	"dsl.RoundEven": direct(ir.OpRint),
	"dsl.Copysign":  direct(ir.OpCopysign),
	"dsl.Min":       direct(ir.OpMin),
	"dsl.Max":       direct(ir.OpMax),
	"dsl.FMA":       direct(ir.OpFMA),
	"dsl.FMA32":     direct(ir.OpFMA),
	"dsl.FMA64":     direct(ir.OpFMA),

	"dsl.MulHi":   direct(ir.OpMulHi),
	"dsl.Permute": direct(ir.OpPermute),
	"dsl.Dot4":    direct(ir.OpDot4),

	"dsl.Shuffle":     direct(ir.OpShflIdx),
	"dsl.ShuffleUp":   direct(ir.OpShflUp),
	"dsl.ShuffleDown": direct(ir.OpShflDown),
	"dsl.ShuffleXor":  direct(ir.OpShflXor),
	"dsl.Ballot":      direct(ir.OpBallot),
	"dsl.Any":         direct(ir.OpAny),
	"dsl.All":         direct(ir.OpAll),

	"dsl.AtomicAdd":   atomicOp(ir.OpAtomicAdd),
	"dsl.AtomicMin":   {accepts: intPointee, lower: atomicOp(ir.OpAtomicMin).lower},
	"dsl.AtomicMax":   {accepts: intPointee, lower: atomicOp(ir.OpAtomicMax).lower},
	"dsl.AtomicAnd":   atomicOp(ir.OpAtomicAnd),
	"dsl.AtomicOr":    atomicOp(ir.OpAtomicOr),
	"dsl.AtomicXor":   atomicOp(ir.OpAtomicXor),
	"dsl.AtomicExch":  atomicOp(ir.OpAtomicExch),
	"dsl.AtomicCAS":   atomicOp(ir.OpAtomicCAS),
	"dsl.AtomicLoad":  atomicOp(ir.OpAtomicLoad),
	"dsl.AtomicStore": atomicOp(ir.OpAtomicStore),

	"dsl.LoadAcquire":         orderedOp(ir.OpAtomicLoad, ir.Acquire),
	"dsl.StoreRelease":        orderedOp(ir.OpAtomicStore, ir.Release),
	"dsl.AtomicLoadExplicit":  explicitOp(ir.OpAtomicLoad),
	"dsl.AtomicStoreExplicit": explicitOp(ir.OpAtomicStore),
	"dsl.AtomicAddExplicit":   explicitOp(ir.OpAtomicAdd),
	"dsl.AtomicMinExplicit":   explicitOp(ir.OpAtomicMin),
	"dsl.AtomicMaxExplicit":   explicitOp(ir.OpAtomicMax),
	"dsl.AtomicAndExplicit":   explicitOp(ir.OpAtomicAnd),
	"dsl.AtomicOrExplicit":    explicitOp(ir.OpAtomicOr),
	"dsl.AtomicXorExplicit":   explicitOp(ir.OpAtomicXor),
	"dsl.AtomicExchExplicit":  explicitOp(ir.OpAtomicExch),
	"dsl.AtomicCASExplicit":   explicitOp(ir.OpAtomicCAS),

	"dsl.Assert": {lower: byLogCall},
	"dsl.Printf": {lower: byLogCall},

	"dsl.CopyAsync":          {lower: copyAsync},
	"dsl.CopyVecAsync":       {lower: copyVec},
	"dsl.CopyTensorAsync":    {lower: copyTensor},
	"dsl.CopyPixelsAsync":    {lower: copyPixels},
	"dsl.StoreTensorAsync":   {lower: storeTensor},
	"dsl.StoreTensorWait":    behindThread(ir.OpStoreWait),
	"dsl.CopyVecAsyncOrZero": {lower: copyVec},
	"dsl.CopyCommit":         direct(ir.OpCopyCommit),
	"dsl.CopyWait":           direct(ir.OpCopyWait),
	"dsl.CopyWaitGroups":     direct(ir.OpCopyGroups),

	"dsl.MBarrier.Init":         mbarrier(ir.OpMBarInit),
	"dsl.MBarrier.Arrive":       mbarrier(ir.OpMBarArrive),
	"dsl.MBarrier.ArriveExpect": mbarrier(ir.OpMBarExpect),
	"dsl.MBarrier.ArriveRemote": mbarrier(ir.OpMBarRemote),
	"dsl.MBarrier.TestWait":     mbarrier(ir.OpMBarTest),
	"dsl.MatrixShape":           {lower: matrixFact},
	"dsl.MatrixRow":             matrixPosition(ir.OpMatrixRow),
	"dsl.MatrixCol":             matrixPosition(ir.OpMatrixCol),
	"dsl.MMA":                   {lower: matrixMultiply},
	"dsl.LoadMatrix":            {lower: matrixLoad},
	"dsl.PackedMMA":             {lower: packedMultiply},
	"dsl.WarpgroupMMA":          {lower: groupMultiply},
	"dsl.WarpgroupFence":        direct(ir.OpWarpgroupFence),
	"dsl.WarpgroupCommit":       direct(ir.OpWarpgroupCommit),
	"dsl.WarpgroupWait":         behindThread(ir.OpWarpgroupWait),
	"dsl.FewerRegisters":        groupRegisters(0),
	"dsl.MoreRegisters":         groupRegisters(1),
	"dsl.AsyncFence":            direct(ir.OpAsyncFence),

	"dsl.Fence":      direct(ir.OpFence),
	"dsl.FenceBlock": direct(ir.OpFenceBlock),

	"fast.Exp2":  direct(ir.OpApproxExp2),
	"fast.Log2":  direct(ir.OpApproxLog2),
	"fast.Sin":   direct(ir.OpApproxSin),
	"fast.Cos":   direct(ir.OpApproxCos),
	"fast.Tanh":  direct(ir.OpApproxTanh),
	"fast.Rsqrt": direct(ir.OpApproxRsqrt),
	"fast.Sqrt":  direct(ir.OpApproxSqrt),
	"fast.Recip": direct(ir.OpApproxRecip),
	"fast.Div":   direct(ir.OpApproxDiv),

	"math.Sqrt":            direct(ir.OpSqrt),
	"math.Abs":             direct(ir.OpAbs),
	"math.Floor":           direct(ir.OpFloor),
	"math.Ceil":            direct(ir.OpCeil),
	"math.Trunc":           direct(ir.OpTrunc),
	"math.RoundToEven":     direct(ir.OpRint),
	"math.Copysign":        direct(ir.OpCopysign),
	"math.FMA":             direct(ir.OpFMA),
	"math.Float32bits":     direct(ir.OpBitcast),
	"math.Float32frombits": direct(ir.OpBitcast),
	"math.Float64bits":     direct(ir.OpBitcast),
	"math.Float64frombits": direct(ir.OpBitcast),
	"math.Inf":             {lower: mathInf},
	"math.NaN":             {lower: mathNaN},
	"math.IsNaN":           {lower: mathIsNaN},
	"math.IsInf":           {lower: mathIsInf},
	"math.Signbit":         {lower: mathSignbit},

	"bits.LeadingZeros":    counted(ir.OpClz),
	"bits.LeadingZeros8":   counted(ir.OpClz),
	"bits.LeadingZeros16":  counted(ir.OpClz),
	"bits.LeadingZeros32":  counted(ir.OpClz),
	"bits.LeadingZeros64":  counted(ir.OpClz),
	"bits.TrailingZeros":   counted(ir.OpCtz),
	"bits.TrailingZeros8":  counted(ir.OpCtz),
	"bits.TrailingZeros16": counted(ir.OpCtz),
	"bits.TrailingZeros32": counted(ir.OpCtz),
	"bits.TrailingZeros64": counted(ir.OpCtz),
	"bits.OnesCount":       counted(ir.OpPopcount),
	"bits.OnesCount8":      counted(ir.OpPopcount),
	"bits.OnesCount16":     counted(ir.OpPopcount),
	"bits.OnesCount32":     counted(ir.OpPopcount),
	"bits.OnesCount64":     counted(ir.OpPopcount),
	"bits.Len":             {lower: bitLen},
	"bits.Len8":            {lower: bitLen},
	"bits.Len16":           {lower: bitLen},
	"bits.Len32":           {lower: bitLen},
	"bits.Len64":           {lower: bitLen},
	"bits.RotateLeft":      {lower: rotateLeft},
	"bits.RotateLeft8":     {lower: rotateLeft},
	"bits.RotateLeft16":    {lower: rotateLeft},
	"bits.RotateLeft32":    {lower: rotateLeft},
	"bits.RotateLeft64":    {lower: rotateLeft},
	"bits.Reverse":         direct(ir.OpReverse),
	"bits.Reverse8":        direct(ir.OpReverse),
	"bits.Reverse16":       direct(ir.OpReverse),
	"bits.Reverse32":       direct(ir.OpReverse),
	"bits.Reverse64":       direct(ir.OpReverse),
	"bits.ReverseBytes":    {lower: reverseBytes},
	"bits.ReverseBytes16":  {lower: reverseBytes},
	"bits.ReverseBytes32":  {lower: reverseBytes},
	"bits.ReverseBytes64":  {lower: reverseBytes},
	"bits.Add":             {lower: addCarry},
	"bits.Add32":           {lower: addCarry},
	"bits.Add64":           {lower: addCarry},
	"bits.Sub":             {lower: subBorrow},
	"bits.Sub32":           {lower: subBorrow},
	"bits.Sub64":           {lower: subBorrow},
	"bits.Mul":             {lower: fullMul},
	"bits.Mul32":           {lower: fullMul},
	"bits.Mul64":           {lower: fullMul},

	"float16.Float16.Float32": {lower: convertTo},
	"float16.Float16.Bits":    direct(ir.OpBitcast),
	"float16.Fromfloat32":     {lower: convertTo},
	"float16.Frombits":        direct(ir.OpBitcast),
}

// direct is an operation on the arguments as they are; a Thread among them
// consists of no values.
func direct(op ir.Op) *intrinsic {
	return &intrinsic{lower: func(c *callSite) val {
		var args []*ir.Value
		for _, a := range c.args {
			args = a.flatten(args)
		}
		t := gotype.Scalar(c.result)
		if t == nil {
			c.f.emit(op, ir.Void, args...)
			return val{}
		}
		return val{v: c.f.emit(op, t, args...)}
	}}
}

func geometry(op ir.Op, axis uint64) *intrinsic {
	return &intrinsic{lower: func(c *callSite) val {
		return val{v: c.f.emitImm(op, ir.I64, axis)}
	}}
}

func notFloat8(c *callSite) bool { return gotype.Float8(c.fn.TypeArgs()[0]) == "" }

func convertTo(c *callSite) val {
	x, t := c.arg(0), gotype.Scalar(c.result)
	if x.Type == t {
		return val{v: x}
	}
	return val{v: c.f.emit(ir.OpConvert, t, x)}
}

// The row stands apart since it calls functions, whose lowering asks the table.
func init() { intrinsics["dsl.Convert"] = &intrinsic{lower: convertAny} }

// convertAny converts between any two types of numbers; 8-bit floats go through
// float32.
func convertAny(c *callSite) val {
	x, types := c.arg(0), c.fn.TypeArgs()
	if x.Type == gotype.Scalar(c.result) && gotype.Float8(types[0]) == gotype.Float8(types[1]) {
		return val{v: x}
	}
	if w := gotype.Float8(types[1]); w != "" {
		x = c.convertBy(gotype.DispatchName("F32", w), x)
	}
	if w := gotype.Float8(types[0]); w != "" {
		if x.Type != ir.F32 {
			x = c.f.emit(ir.OpConvert, ir.F32, x)
		}
		return val{v: c.convertBy(gotype.DispatchName("To", w), x)}
	}
	if t := gotype.Scalar(c.result); x.Type != t {
		x = c.f.emit(ir.OpConvert, t, x)
	}
	return val{v: x}
}

// convertBy calls a function of package dsl of one argument.
func (c *callSite) convertBy(name string, x *ir.Value) *ir.Value {
	fn := c.f.l.k.DSL.Func(name)
	return c.f.callBody(c.in, fn, []val{{v: x}}, nil).v
}

func mathInf(c *callSite) val {
	f := c.f
	positive := f.emit(ir.OpGe, ir.Bool, c.arg(0), f.int(0))
	return val{v: f.emit(ir.OpSelect, ir.F64, positive, f.float(math.Inf(1)), f.float(math.Inf(-1)))}
}

func mathNaN(c *callSite) val { return val{v: c.f.float(math.NaN())} }

func mathIsNaN(c *callSite) val {
	return val{v: c.f.emit(ir.OpNe, ir.Bool, c.arg(0), c.arg(0))}
}

func mathIsInf(c *callSite) val {
	f, x, sign := c.f, c.arg(0), c.arg(1)
	both := func(cmp ir.Op, limit float64) *ir.Value {
		wanted := f.emit(cmp, ir.Bool, sign, f.int(0))
		return f.emit(ir.OpAnd, ir.Bool, wanted, f.emit(ir.OpEq, ir.Bool, x, f.float(limit)))
	}
	return val{v: f.emit(ir.OpOr, ir.Bool, both(ir.OpGe, math.Inf(1)), both(ir.OpLe, math.Inf(-1)))}
}

func mathSignbit(c *callSite) val {
	f := c.f
	return val{v: f.emit(ir.OpLt, ir.Bool, f.emit(ir.OpBitcast, ir.I64, c.arg(0)), f.int(0))}
}

func sharedObject(c *callSite) val {
	t := c.sharedType(gotype.Deref(c.result))
	if t == nil {
		return badVal
	}
	n := c.shared(t)
	return val{v: c.f.emitImm(ir.OpShared, ir.PtrTo(ir.Shared, t), n)}
}

// sharedSlice leaves the length to the pass size, where it is a constant.
func sharedSlice(c *callSite) val {
	t := c.sharedType(c.result.Underlying().(*types.Slice).Elem())
	if t == nil {
		return badVal
	}
	p := c.f.emitImm(ir.OpSharedSized, ir.PtrTo(ir.Shared, t), c.shared(ir.ArrayOf(0, t)), c.arg(1))
	return val{parts: []val{{v: p}, {v: c.arg(1)}}}
}

// dynamicShared leaves it to the pass size, which parameter of the kernel the length is.
func dynamicShared(c *callSite) val {
	v := sharedSlice(c)
	if len(v.parts) > 0 {
		c.f.l.m.Shared[v.parts[0].v.Imm].Dynamic = true
	}
	return v
}

func localSlice(c *callSite) val {
	elem := c.result.Underlying().(*types.Slice).Elem()
	t := gotype.Memory(elem)
	if t == nil {
		c.f.report(diag.StoredPointer, "dsl.LocalSlice of type %s", gotype.Name(elem))
		return badVal
	}
	p := c.f.emit(ir.OpLocalSized, ir.PtrTo(ir.Local, t), c.arg(0))
	return val{parts: []val{{v: p}, {v: c.arg(0)}}}
}

// behindThread is an operation without a result on the numbers that follow the Thread. That they are
// constants is for the pass size or the emitter to check, like lengths of sharedSlice.
func behindThread(op ir.Op) *intrinsic {
	return &intrinsic{lower: func(c *callSite) val {
		var args []*ir.Value
		for i := range c.args[1:] {
			args = append(args, c.scalar(i))
		}
		c.f.emit(op, ir.Void, args...)
		return val{}
	}}
}

func (c *callSite) sharedType(elem types.Type) *ir.Type {
	t := gotype.Memory(elem)
	if t == nil {
		c.f.report(diag.SharedType, "shared memory of type %s", gotype.Name(elem))
	}
	return t
}

// shared returns the number of the call's object of type t.
func (c *callSite) shared(t *ir.Type) uint64 {
	f, l := c.f, c.f.l
	key := sharedKey{c.in.Pos(), t}
	n, ok := l.shared[key]
	if !ok {
		p := l.k.Fset.Position(key.pos)
		line := sharedLine{p.Filename, p.Line, t}
		if first, taken := l.lines[line]; taken && first != key.pos {
			f.report(diag.SharedTwice, "second dsl.%s of type %s on this line", c.fn.Origin().Name(), gotype.Name(c.fn.TypeArgs()[0]))
		}
		l.lines[line] = key.pos
		n = len(l.m.Shared)
		l.shared[key] = n
		l.m.Shared = append(l.m.Shared, &ir.Object{Name: "shared", Type: t})
	}
	return uint64(n)
}

// Intrinsics returns the keys of the table of intrinsics, sorted.
func Intrinsics() []string { return slices.Sorted(maps.Keys(intrinsics)) }
