"""What memory there is."""

import torch


def free_memory(device: torch.device) -> int:
    """Bytes of a device's memory that nobody uses."""
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + kept
    import psutil

    return int(psutil.virtual_memory().available)
