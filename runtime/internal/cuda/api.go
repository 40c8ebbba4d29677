package cuda

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/vendorgraph"
)

// api is the part of libcuda that is used: addresses of functions.
type api struct {
	cuInit, cuDriverGetVersion, cuGetErrorName, cuGetErrorString uintptr

	cuDeviceGetCount, cuDeviceGet, cuDeviceGetName, cuDeviceTotalMem, cuDeviceGetAttribute uintptr

	cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease, cuCtxSetCurrent, cuCtxSynchronize uintptr

	cuMemGetInfo, cuMemAlloc, cuMemFree, cuMemHostAlloc, cuMemFreeHost uintptr

	cuMemAllocAsync, cuMemFreeAsync, cuDeviceGetDefaultMemPool    uintptr
	cuMemPoolSetAttribute, cuMemPoolGetAttribute, cuMemPoolTrimTo uintptr
	cuMemcpyPeerAsync                                             uintptr

	cuMemcpyAsync, cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemcpy2DAsync uintptr
	cuMemsetD8Async                                                      uintptr

	cuStreamCreate, cuStreamDestroy, cuStreamSynchronize, cuStreamWaitEvent                            uintptr
	cuEventCreate, cuEventDestroy, cuEventRecord, cuEventQuery, cuEventSynchronize, cuEventElapsedTime uintptr

	cuModuleLoadDataEx, cuModuleUnload, cuModuleGetFunction, cuFuncGetAttribute, cuFuncSetAttribute, cuLaunchKernel uintptr
	cuOccupancyMaxActiveBlocksPerMultiprocessor                                                                     uintptr
	cuFuncGetParamInfo, cuLaunchKernelEx                                                                            uintptr

	cuLinkCreate, cuLinkAddData, cuLinkComplete, cuLinkDestroy uintptr

	graphs                        vendorgraph.Functions
	cuGraphKernelNodeSetAttribute uintptr
}

// entry says where in libcuda a function is found. Several names are tried in
// order: a name with a version suffix is a newer form with the same parameters.
type entry struct {
	addr     *uintptr
	names    []string
	optional bool // absent from drivers that are still supported
}

func (a *api) entries() []entry {
	need := func(addr *uintptr, names ...string) entry { return entry{addr, names, false} }
	may := func(addr *uintptr, names ...string) entry { return entry{addr, names, true} }
	return []entry{
		need(&a.cuInit, "cuInit"),
		need(&a.cuDriverGetVersion, "cuDriverGetVersion"),
		need(&a.cuGetErrorName, "cuGetErrorName"),
		need(&a.cuGetErrorString, "cuGetErrorString"),
		need(&a.cuDeviceGetCount, "cuDeviceGetCount"),
		need(&a.cuDeviceGet, "cuDeviceGet"),
		need(&a.cuDeviceGetName, "cuDeviceGetName"),
		need(&a.cuDeviceTotalMem, "cuDeviceTotalMem_v2"),
		need(&a.cuDeviceGetAttribute, "cuDeviceGetAttribute"),
		need(&a.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain"),
		need(&a.cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"),
		need(&a.cuCtxSetCurrent, "cuCtxSetCurrent"),
		need(&a.cuCtxSynchronize, "cuCtxSynchronize"),
		need(&a.cuMemGetInfo, "cuMemGetInfo_v2"),
		need(&a.cuMemAlloc, "cuMemAlloc_v2"),
		need(&a.cuMemFree, "cuMemFree_v2"),
		need(&a.cuMemHostAlloc, "cuMemHostAlloc"),
		need(&a.cuMemFreeHost, "cuMemFreeHost"),
		may(&a.cuMemAllocAsync, "cuMemAllocAsync"),
		may(&a.cuMemFreeAsync, "cuMemFreeAsync"),
		may(&a.cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool"),
		may(&a.cuMemPoolSetAttribute, "cuMemPoolSetAttribute"),
		may(&a.cuMemPoolGetAttribute, "cuMemPoolGetAttribute"),
		may(&a.cuMemPoolTrimTo, "cuMemPoolTrimTo"),
		need(&a.cuMemcpyAsync, "cuMemcpyAsync"),
		may(&a.cuMemcpyPeerAsync, "cuMemcpyPeerAsync"),
		need(&a.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"),
		need(&a.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2"),
		need(&a.cuMemcpy2DAsync, "cuMemcpy2DAsync_v2"),
		need(&a.cuMemsetD8Async, "cuMemsetD8Async"),
		need(&a.cuStreamCreate, "cuStreamCreate"),
		need(&a.cuStreamDestroy, "cuStreamDestroy_v2"),
		need(&a.cuStreamSynchronize, "cuStreamSynchronize"),
		need(&a.cuStreamWaitEvent, "cuStreamWaitEvent"),
		need(&a.cuEventCreate, "cuEventCreate"),
		need(&a.cuEventDestroy, "cuEventDestroy_v2"),
		need(&a.cuEventRecord, "cuEventRecord"),
		need(&a.cuEventQuery, "cuEventQuery"),
		need(&a.cuEventSynchronize, "cuEventSynchronize"),
		need(&a.cuEventElapsedTime, "cuEventElapsedTime", "cuEventElapsedTime_v2"),
		need(&a.cuModuleLoadDataEx, "cuModuleLoadDataEx"),
		need(&a.cuModuleUnload, "cuModuleUnload"),
		need(&a.cuModuleGetFunction, "cuModuleGetFunction"),
		need(&a.cuFuncGetAttribute, "cuFuncGetAttribute"),
		may(&a.cuFuncGetParamInfo, "cuFuncGetParamInfo"), // CUDA 12.4
		need(&a.cuFuncSetAttribute, "cuFuncSetAttribute"),
		may(&a.cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor"),
		need(&a.cuLaunchKernel, "cuLaunchKernel"),
		may(&a.cuLaunchKernelEx, "cuLaunchKernelEx"), // CUDA 11.8
		need(&a.cuLinkCreate, "cuLinkCreate_v2"),
		need(&a.cuLinkAddData, "cuLinkAddData_v2"),
		need(&a.cuLinkComplete, "cuLinkComplete"),
		need(&a.cuLinkDestroy, "cuLinkDestroy"),
		may(&a.graphs.Create, "cuGraphCreate"),
		may(&a.graphs.AddKernel, "cuGraphAddKernelNode_v2", "cuGraphAddKernelNode"),
		may(&a.cuGraphKernelNodeSetAttribute, "cuGraphKernelNodeSetAttribute"),
		may(&a.graphs.AddCopy, "cuGraphAddMemcpyNode"),
		may(&a.graphs.AddFill, "cuGraphAddMemsetNode"),
		may(&a.graphs.Instantiate, "cuGraphInstantiateWithFlags"),
		may(&a.graphs.Launch, "cuGraphLaunch"),
		may(&a.graphs.Destroy, "cuGraphDestroy"),
		may(&a.graphs.DestroyExec, "cuGraphExecDestroy"),
	}
}

// resolve finds all functions, or names every one that is missing.
func (a *api) resolve(lib dl.Lib) error {
	var missing []error
	for _, e := range a.entries() {
		var err error
		for _, name := range e.names {
			if *e.addr, err = lib.Sym(name); err == nil {
				break
			}
		}
		if err != nil && !e.optional {
			missing = append(missing, err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is too old or not a CUDA driver: %w", lib.Name(), errors.Join(missing...))
	}
	return nil
}

// pools reports whether memory can be allocated in stream order.
func (a *api) pools() bool {
	return a.cuMemAllocAsync != 0 && a.cuMemFreeAsync != 0 && a.cuDeviceGetDefaultMemPool != 0 &&
		a.cuMemPoolSetAttribute != 0 && a.cuMemPoolGetAttribute != 0 && a.cuMemPoolTrimTo != 0
}

// result is a CUresult.
type result int32

// call calls a function of libcuda that keeps none of its arguments. Pointers
// converted to uintptr in the call stay valid until it returns.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) result { return result(uint32(dl.Call(fn, args))) }

// Attributes of a device (CUdevice_attribute).
const (
	attrMaxThreadsPerBlock  = 1
	attrMaxBlockDimX        = 2 // Y and Z follow
	attrMaxGridDimX         = 5 // Y and Z follow
	attrSharedPerBlock      = 8
	attrWarpSize            = 10
	attrClockRate           = 13
	attrMultiprocessorCount = 16
	attrPCIBus              = 33
	attrPCIDevice           = 34
	attrMemoryClockRate     = 36
	attrMemoryBusWidth      = 37
	attrL2CacheSize         = 38
	attrMaxThreadsPerSM     = 39
	attrPCIDomain           = 50
	attrComputeMajor        = 75
	attrComputeMinor        = 76
	attrMaxRegistersPerSM   = 82
	attrCooperative         = 95
	attrSharedPerBlockOptin = 97
	attrMemoryPools         = 115
)

// Attributes of a function (CUfunction_attribute).
const (
	funcMaxThreads  = 0
	funcSharedBytes = 1
	funcLocalBytes  = 3
	funcRegisters   = 4
	funcMaxDynamic  = 8
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

// Attributes of a memory pool (CUmemPool_attribute).
const (
	poolReleaseThreshold = 4
	poolReserved         = 5
	poolUsed             = 7
)

// The keys of cuLaunchKernel's "extra" list.
const (
	launchEnd           = 0 // CU_LAUNCH_PARAM_END
	launchBufferPointer = 1 // CU_LAUNCH_PARAM_BUFFER_POINTER
	launchBufferSize    = 2 // CU_LAUNCH_PARAM_BUFFER_SIZE
)

const (
	hostAllocPortable  = 1 // CU_MEMHOSTALLOC_PORTABLE
	eventDisableTiming = 2 // CU_EVENT_DISABLE_TIMING
	memoryTypeUnified  = 4 // CU_MEMORYTYPE_UNIFIED
)
