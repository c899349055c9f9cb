/**
 * JSON over HTTP for the pages; the client module holds how it is done.
 */
export { ApiError, request, requestJson } from "../../client/http.js";
