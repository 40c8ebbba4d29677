package cuda

import "github.com/gokiln/kiln/runtime/internal/vendorapi"

// api is what only CUDA has: addresses of functions.
type api struct {
	cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease, cuMemcpy2DAsync uintptr
	cuModuleLoadDataEx, cuLaunchKernelEx, cuGraphKernelNodeSetAttribute  uintptr
	cuLinkCreate, cuLinkAddData, cuLinkComplete, cuLinkDestroy           uintptr
	cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col                      uintptr
}

// Entries are the functions of libcuda that are used.
func (a *api) Entries(f *vendorapi.Functions) []vendorapi.Entry {
	need, may := vendorapi.Need, vendorapi.May
	return []vendorapi.Entry{
		need(&f.Init, "cuInit"),
		need(&f.Version, "cuDriverGetVersion"),
		need(&f.ErrorName, "cuGetErrorName"),
		need(&f.ErrorString, "cuGetErrorString"),
		need(&f.DeviceCount, "cuDeviceGetCount"),
		need(&f.DeviceGet, "cuDeviceGet"),
		need(&f.DeviceName, "cuDeviceGetName"),
		need(&f.DeviceTotalMem, "cuDeviceTotalMem_v2"),
		need(&f.DeviceAttribute, "cuDeviceGetAttribute"),
		need(&a.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain"),
		need(&a.cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"),
		need(&f.SetCurrent, "cuCtxSetCurrent"),
		need(&f.Synchronize, "cuCtxSynchronize"),
		need(&f.MemInfo, "cuMemGetInfo_v2"),
		need(&f.Alloc, "cuMemAlloc_v2"),
		need(&f.Free, "cuMemFree_v2"),
		need(&f.HostAlloc, "cuMemHostAlloc"),
		need(&f.HostFree, "cuMemFreeHost"),
		may(&f.AllocAsync, "cuMemAllocAsync"),
		may(&f.FreeAsync, "cuMemFreeAsync"),
		may(&f.DefaultPool, "cuDeviceGetDefaultMemPool"),
		may(&f.PoolSet, "cuMemPoolSetAttribute"),
		may(&f.PoolGet, "cuMemPoolGetAttribute"),
		may(&f.PoolTrim, "cuMemPoolTrimTo"),
		need(&f.Copy, "cuMemcpyAsync"),
		may(&f.CopyPeer, "cuMemcpyPeerAsync"),
		need(&f.CopyToDevice, "cuMemcpyHtoDAsync_v2"),
		need(&f.CopyToHost, "cuMemcpyDtoHAsync_v2"),
		need(&a.cuMemcpy2DAsync, "cuMemcpy2DAsync_v2"),
		need(&f.SetByte, "cuMemsetD8Async"),
		need(&f.StreamCreate, "cuStreamCreate"),
		need(&f.StreamDestroy, "cuStreamDestroy_v2"),
		need(&f.StreamSync, "cuStreamSynchronize"),
		need(&f.StreamWait, "cuStreamWaitEvent"),
		need(&f.EventCreate, "cuEventCreate"),
		need(&f.EventDestroy, "cuEventDestroy_v2"),
		need(&f.EventRecord, "cuEventRecord"),
		need(&f.EventQuery, "cuEventQuery"),
		need(&f.EventSync, "cuEventSynchronize"),
		need(&f.EventTime, "cuEventElapsedTime", "cuEventElapsedTime_v2"),
		need(&a.cuModuleLoadDataEx, "cuModuleLoadDataEx"),
		need(&f.ModuleUnload, "cuModuleUnload"),
		need(&f.ModuleFunction, "cuModuleGetFunction"),
		need(&f.FuncAttribute, "cuFuncGetAttribute"),
		may(&f.FuncParam, "cuFuncGetParamInfo"), // CUDA 12.4
		need(&f.SetFuncAttribute, "cuFuncSetAttribute"),
		may(&f.Resident, "cuOccupancyMaxActiveBlocksPerMultiprocessor"),
		need(&f.Launch, "cuLaunchKernel"),
		may(&a.cuLaunchKernelEx, "cuLaunchKernelEx"),             // CUDA 11.8
		may(&a.cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled"), // CUDA 12.0
		may(&a.cuTensorMapEncodeIm2col, "cuTensorMapEncodeIm2col"),
		need(&a.cuLinkCreate, "cuLinkCreate_v2"),
		need(&a.cuLinkAddData, "cuLinkAddData_v2"),
		need(&a.cuLinkComplete, "cuLinkComplete"),
		need(&a.cuLinkDestroy, "cuLinkDestroy"),
		may(&f.Graphs.Create, "cuGraphCreate"),
		may(&f.Graphs.AddKernel, "cuGraphAddKernelNode_v2", "cuGraphAddKernelNode"),
		may(&a.cuGraphKernelNodeSetAttribute, "cuGraphKernelNodeSetAttribute"),
		may(&f.Graphs.AddCopy, "cuGraphAddMemcpyNode"),
		may(&f.Graphs.AddFill, "cuGraphAddMemsetNode"),
		may(&f.Graphs.Instantiate, "cuGraphInstantiateWithFlags"),
		may(&f.Graphs.Launch, "cuGraphLaunch"),
		may(&f.Graphs.Destroy, "cuGraphDestroy"),
		may(&f.Graphs.DestroyExec, "cuGraphExecDestroy"),
	}
}

// traits are the names and numbers of CUDA.
var traits = vendorapi.Traits{
	Kind: "cuda", Vendor: "NVIDIA", Platform: "CUDA", API: "CUDA", Program: "driver",
	Contexts: true, WholeWords: true, PlainShared: 48 << 10,
	Attributes: vendorapi.Attributes{ // CUdevice_attribute
		MaxThreadsPerBlock: 1, MaxBlockX: 2, MaxGridX: 5, SharedPerBlock: 8, WarpSize: 10,
		ClockRate: 13, Multiprocessors: 16, PCIBus: 33, PCIDevice: 34, MemoryClockRate: 36,
		MemoryBusWidth: 37, L2CacheSize: 38, ThreadsPerUnit: 39, PCIDomain: 50, RegistersPerUnit: 82,
		CooperativeLaunch: attrCooperative, MemoryPools: 115,
	},
}

// Traits are the names and numbers of CUDA.
func (*api) Traits() *vendorapi.Traits { return &traits }

// More attributes of a device (CUdevice_attribute).
const (
	attrComputeMajor        = 75
	attrComputeMinor        = 76
	attrCooperative         = 95
	attrSharedPerBlockOptin = 97
)

// Options of the compiler in the driver (CUjit_option).
const (
	jitMaxRegisters = 0
	jitInfoLog      = 3
	jitInfoLogSize  = 4
	jitErrorLog     = 5
	jitErrorLogSize = 6
	jitOptLevel     = 7
	jitLogVerbose   = 12
	jitLineInfo     = 13
)

// Kinds of input of the linker (CUjitInputType).
const jitInputPTX = 1

const memoryTypeUnified = 4 // CU_MEMORYTYPE_UNIFIED
