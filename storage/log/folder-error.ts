/** A folder that cannot be used, and why, in words for an operator. */
export class FolderError extends Error {}
