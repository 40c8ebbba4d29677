package rocm

import "github.com/gokiln/kiln/runtime/internal/vendorapi"

// api is what only HIP has: addresses of functions.
type api struct {
	hipGetDeviceProperties, hipMemcpy2DAsync, hipModuleLoad uintptr

	hipModuleLaunchCooperativeKernel, hipGraphAddMemcpyNode1D uintptr
}

// Entries are the functions of libamdhip64 that are used. They are those of HIP 5.3 and later,
// where the numbers of attributes became what they are now; see "HIP Runtime API Reference" at
// rocm.docs.amd.com/projects/HIP.
func (a *api) Entries(f *vendorapi.Functions) []vendorapi.Entry {
	need, may := vendorapi.Need, vendorapi.May
	return []vendorapi.Entry{
		need(&f.Init, "hipInit"),
		need(&f.Version, "hipRuntimeGetVersion"),
		need(&f.ErrorName, "hipGetErrorName"),
		need(&f.ErrorString, "hipGetErrorString"),
		need(&f.DeviceCount, "hipGetDeviceCount"),
		need(&f.DeviceGet, "hipDeviceGet"),
		need(&f.DeviceName, "hipDeviceGetName"),
		need(&f.DeviceTotalMem, "hipDeviceTotalMem"),
		need(&f.DeviceAttribute, "hipDeviceGetAttribute"),
		need(&a.hipGetDeviceProperties, "hipGetDevicePropertiesR0600", "hipGetDeviceProperties"),
		need(&f.SetCurrent, "hipSetDevice"),
		need(&f.Synchronize, "hipDeviceSynchronize"),
		need(&f.MemInfo, "hipMemGetInfo"),
		need(&f.Alloc, "hipMalloc"),
		need(&f.Free, "hipFree"),
		need(&f.HostAlloc, "hipHostMalloc"),
		need(&f.HostFree, "hipHostFree"),
		may(&f.AllocAsync, "hipMallocAsync"),
		may(&f.FreeAsync, "hipFreeAsync"),
		may(&f.DefaultPool, "hipDeviceGetDefaultMemPool"),
		may(&f.PoolSet, "hipMemPoolSetAttribute"),
		may(&f.PoolGet, "hipMemPoolGetAttribute"),
		may(&f.PoolTrim, "hipMemPoolTrimTo"),
		need(&f.Copy, "hipMemcpyAsync"),
		need(&f.CopyToDevice, "hipMemcpyAsync"),
		need(&f.CopyToHost, "hipMemcpyAsync"),
		may(&f.CopyPeer, "hipMemcpyPeerAsync"),
		need(&a.hipMemcpy2DAsync, "hipMemcpy2DAsync"),
		need(&f.SetByte, "hipMemsetD8Async"),
		need(&f.StreamCreate, "hipStreamCreateWithFlags"),
		need(&f.StreamDestroy, "hipStreamDestroy"),
		need(&f.StreamSync, "hipStreamSynchronize"),
		need(&f.StreamWait, "hipStreamWaitEvent"),
		need(&f.EventCreate, "hipEventCreateWithFlags"),
		need(&f.EventDestroy, "hipEventDestroy"),
		need(&f.EventRecord, "hipEventRecord"),
		need(&f.EventQuery, "hipEventQuery"),
		need(&f.EventSync, "hipEventSynchronize"),
		need(&f.EventTime, "hipEventElapsedTime"),
		need(&a.hipModuleLoad, "hipModuleLoadData"),
		need(&f.ModuleUnload, "hipModuleUnload"),
		need(&f.ModuleFunction, "hipModuleGetFunction"),
		need(&f.FuncAttribute, "hipFuncGetAttribute"),
		need(&f.Launch, "hipModuleLaunchKernel"),
		may(&a.hipModuleLaunchCooperativeKernel, "hipModuleLaunchCooperativeKernel"),
		may(&f.Resident, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"),
		may(&f.Graphs.Create, "hipGraphCreate"),
		may(&f.Graphs.AddKernel, "hipGraphAddKernelNode"),
		may(&f.Graphs.AddCopy, "hipGraphAddMemcpyNode"),
		may(&a.hipGraphAddMemcpyNode1D, "hipGraphAddMemcpyNode1D"),
		may(&f.Graphs.AddFill, "hipGraphAddMemsetNode"),
		may(&f.Graphs.Instantiate, "hipGraphInstantiateWithFlags"),
		may(&f.Graphs.Launch, "hipGraphLaunch"),
		may(&f.Graphs.Destroy, "hipGraphDestroy"),
		may(&f.Graphs.DestroyExec, "hipGraphExecDestroy"),
	}
}

// traits are the names and numbers of HIP.
var traits = vendorapi.Traits{
	Kind: "rocm", Vendor: "AMD", Platform: "ROCm", API: "HIP", Program: "runtime",
	TextReturned: true, Directed: true,
	LaunchEnd:   3,    // HIP_LAUNCH_PARAM_END
	Grids32:     true, // by the packet that starts a kernel
	NoNode:      98,   // hipErrorInvalidDeviceFunction, of kernels of a module, before ROCm 5.3
	GraphsInUse: true, // not every version keeps a graph that is destroyed until it is done
	// hipDeviceAttribute_t, as numbered since HIP 5: the "CUDA compatible" part of the list.
	Attributes: vendorapi.Attributes{
		ClockRate: 5, CooperativeLaunch: 10, L2CacheSize: 19, MaxBlockX: 26, MaxGridX: 29,
		MaxThreadsPerBlock: 56, ThreadsPerUnit: 57, MemoryBusWidth: 59, MemoryClockRate: 60,
		Multiprocessors: 63, PCIBus: 67, PCIDevice: 68, PCIDomain: 69, RegistersPerUnit: 72,
		SharedPerBlock: 74, WarpSize: 87, MemoryPools: 88,
	},
}

// Traits are the names and numbers of HIP.
func (*api) Traits() *vendorapi.Traits { return &traits }
