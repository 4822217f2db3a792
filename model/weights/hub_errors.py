"""What huggingface_hub, the network and the disk raise, told as one sentence that says what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from model.errors import HeadworkError, first_line


def explained(error: Exception, repo_id: str, endpoint: str, file: str | None = None) -> HeadworkError:
    """The sentence for an error that came up while asking the hub at `endpoint` for `repo_id`."""
    import httpx2
    from huggingface_hub import errors

    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, errors.OfflineModeIsEnabled):
            return HeadworkError(
                "{repo_id} is not on this computer, and HF_HUB_OFFLINE forbids fetching it. Unset that variable first.",
                repo_id=repo_id,
            )
        if isinstance(cause, errors.HfHubHTTPError):
            return _answered(cause, repo_id, endpoint, file)
        if isinstance(cause, httpx2.TimeoutException):
            return HeadworkError(
                "{endpoint} did not answer in time. Check the network, or set HF_ENDPOINT to a mirror, and try again.",
                endpoint=endpoint,
            )
        if isinstance(cause, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
            return HeadworkError("{endpoint} is not a web address. Check HF_ENDPOINT.", endpoint=repr(endpoint))
        if isinstance(cause, httpx2.ConnectError | httpx2.ProxyError):
            return HeadworkError(
                "{endpoint} can't be reached ({reason}). Check the network, or set HF_ENDPOINT to a mirror.",
                endpoint=endpoint,
                reason=first_line(cause),
            )
        if isinstance(cause, httpx2.HTTPError):
            return HeadworkError(
                "The connection to {endpoint} broke while {what} was on its way ({reason}). Try again.",
                endpoint=endpoint,
                what=file or repo_id,
                reason=first_line(cause),
            )
    for cause in chain:
        if isinstance(cause, errors.FileMetadataError):
            return HeadworkError(
                "{endpoint} does not answer as a model hub does. Check HF_ENDPOINT.", endpoint=endpoint
            )
        if isinstance(cause, OSError):
            return _local(cause, file or repo_id)
    return HeadworkError(  # what a server says that is no hub: HTML, JSON of another form
        "{endpoint} gave an answer that can't be understood ({reason}). Check HF_ENDPOINT.",
        endpoint=endpoint,
        reason=first_line(error),
    )


def _answered(error: OSError, repo_id: str, endpoint: str, file: str | None) -> HeadworkError:
    """The hub answered, and said no."""
    from huggingface_hub import errors

    assert isinstance(error, errors.HfHubHTTPError)
    status = error.response.status_code
    if isinstance(error, errors.GatedRepoError):
        return HeadworkError(
            "{repo_id} is available only to people who accepted its terms. Accept them at {url}, and set HF_TOKEN.",
            repo_id=repo_id,
            url=f"{endpoint}/{repo_id}",
        )
    if status in (401, 403):
        return HeadworkError(
            "{endpoint} does not give out {repo_id}: it is private, or there is no such model (status {status}). "
            "Check the spelling; for a private model set HF_TOKEN.",
            endpoint=endpoint,
            repo_id=repo_id,
            status=status,
        )
    if status == 404 and file is None:
        return HeadworkError(
            "There is no model {repo_id} at {endpoint}. Check the spelling of owner/name.",
            repo_id=repo_id,
            endpoint=endpoint,
        )
    if status == 404:
        return HeadworkError("{repo_id} has no file {file} any more. Try again.", repo_id=repo_id, file=file)
    if status == 429:
        return HeadworkError("{endpoint} received too many requests from here. Wait a few minutes.", endpoint=endpoint)
    return HeadworkError(
        "{endpoint} can't answer at the moment (status {status}). Try again later.", endpoint=endpoint, status=status
    )


def _local(error: OSError, what: str) -> HeadworkError:
    """The trouble is on this side: a short file, a full disk, a folder that can't be written."""
    if "Consistency check failed" in str(error):
        return HeadworkError("{file} arrived incomplete. Try again.", file=what)
    if error.errno == errno.ENOSPC:
        return HeadworkError("The disk is full: {file} doesn't fit. Free some space, or set HF_HOME.", file=what)
    return HeadworkError(
        "{file} can't be stored ({reason}). Check the folder that HF_HOME names.",
        file=what,
        reason=first_line(error),
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
